"""A hundred everyday English sentences, short and long, written for the benchmarks."""

SENTENCES = """\
Good morning!
Where is the station?
I am hungry.
She lives in Berlin.
The train is late again.
Can you help me, please?
We have no milk left.
He has never been to Spain.
What time does the shop open?
My brother works in a hospital.
It has been raining since Monday.
I forgot my umbrella at home.
The children are playing in the garden.
Do you know where my keys are?
She reads a book every week.
They sold their house last year.
Please close the window.
I would like a cup of coffee.
The soup is too hot to eat.
He asked me to wait outside.
Our neighbours have two dogs.
I do not understand this question.
You should see a doctor.
The museum is closed on Mondays.
My phone does not work here.
She is taller than her sister.
We went to the beach yesterday.
How much does this cost?
He fell asleep on the sofa.
I have to get up early tomorrow.
The cat did not cross the street because it was too tired.
If it rains tomorrow, we will stay at home.
She told me that she had lost her passport.
The film was longer than I had expected.
Could you speak a little more slowly?
I have known him since we were at school.
The bread in this bakery is the best in town.
He does not drink coffee in the evening.
We are looking for a flat with a balcony.
The teacher explained the rule once more.
Nobody wanted to tell her the truth.
I am afraid I cannot come to your party.
The bus to the airport leaves every twenty minutes.
She learned to swim when she was six.
Why did you not call me back?
The letter arrived three days too late.
He is looking forward to his holiday.
There is something wrong with the engine.
My grandmother tells wonderful stories.
Put the plates on the table, please.
I will never forget what you did for me.
The river is deeper than it looks.
They have been married for thirty years.
You are not allowed to park here.
The doctor advised him to stop smoking.
We missed the last train and had to walk home.
She plays the piano better than anyone I know.
I wonder what will happen next.
The man who lives upstairs is a musician.
He opened the door without knocking.
Is there a chemist near here?
The weather in April changes all the time.
I bought these shoes in a small shop.
The old bridge was built two hundred years ago.
She always takes the bicycle to work.
What would you do if you were in my place?
We still have plenty of time.
The dog barked all night long.
I cannot find the book that you lent me.
He speaks German with a slight accent.
The meeting was moved to Thursday afternoon.
They are going to build a new school.
My father taught me how to drive.
You can leave your coat in the hall.
The bank that was robbed yesterday is open again.
It is too dark to take photographs.
She did not answer my question.
I prefer tea to coffee.
The mountains were covered with snow.
He promised to write to us every week.
We need more chairs for the guests.
The lights went out in the middle of the concert.
Do not be late for dinner.
I have read this sentence three times and still do not understand it.
The girl with the red hat is my cousin.
He spent all his money on old records.
She would rather stay in bed on Sundays.
The answer was right in front of us.
Somebody has eaten my cake.
The keys that were lying on the kitchen table belong to my uncle.
I hope you feel better soon.
They live on the other side of the river.
The plane landed an hour ago.
You must not believe everything you read.
He was so tired that he could hardly stand.
We have seen this picture before.
The price of bread has gone up again.
She wrote her first novel at the age of seventy.
Turn left at the next traffic light.
Thank you very much for your help.
""".splitlines()
