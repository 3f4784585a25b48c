"""The attention of every layer and head of a model, for a text or an image of your own."""

import streamlit as st

from viz_app import library, link
from viz_app.attention.answer import show_answer
from viz_app.attention.example_choice import example_of
from viz_app.attention.explore import explore, forget_other_view
from viz_app.attention.model_choice import choose_model, introduce
from viz_app.attention.question import ask
from viz_app.attention.running import inspect, open_model
from viz_app.examples import examples_for
from viz_app.permissions import permissions

NOT_AN_EXPLANATION = (
    "Attention is not explanation: a weight says how much of a token's value vector is read, not that the token caused "
    "the answer. Other weights can give the same answer (Jain & Wallace 2019; the reply: Wiegreffe & Pinter 2019)."
)


def page() -> None:
    names, allowed = library.models(), permissions()
    if not names:
        st.info(library.NO_MODELS)
        if not allowed.own_models:
            return
    introduction = st.container(horizontal=True, vertical_alignment="bottom")
    question, answer = st.columns(2, gap="medium")
    # Another model brings another text and another view: in the address, and on the way back, it is one step with them.
    with question, link.one_step():
        # Together in one place: what appears there while a model loads moves nothing below, where somebody may type.
        model_place, question_place, step_place = st.container(), st.container(), st.container()
        with model_place:
            chosen = choose_model(names, allowed, step_place)
            model = open_model(chosen.model) if chosen.model else None
        if chosen.model:
            forget_other_view(chosen.model)
        with introduction:
            introduce(model)
        with question_place:
            content, options = ask(model, chosen.options)
    if chosen.model is None:
        answer.info(chosen.advice)
    if model is None:
        return
    with answer:
        inspection, content = inspect(chosen.model, content, options)
        if inspection is not None:
            show_answer(model, inspection, options)
            if example := example_of(content, examples_for(model)):
                st.write(f"**Look for:** {example.look_for}")
    if inspection is not None:
        explore(model, inspection, (chosen.model, content, options))
    link.tell_problems("Attention")


page()
st.caption(NOT_AN_EXPLANATION)
