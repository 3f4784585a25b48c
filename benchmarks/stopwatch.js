// What the benchmark adds to a page before the page's own scripts run. It looks from outside, once a frame.
globalThis.stopwatch = (() => {
  const frame = () => new Promise(requestAnimationFrame);

  /** Milliseconds since the page began to load, at the first frame in which `condition` holds. */
  async function there(condition) {
    do await frame(); while (!condition());
    return performance.now();
  }

  /** The same when two more frames have begun. */
  async function painted(condition) {
    await there(condition);
    await frame();
    await frame();
    return performance.now();
  }

  /** Milliseconds from the next event of a type until `condition` is there or, as `stage` says, painted. */
  function since(type, condition, stage = painted) {
    return new Promise((done) => {
      const listen = async (event) => done((await stage(condition)) - event.timeStamp);
      addEventListener(type, listen, { capture: true, once: true });
    });
  }

  /** Notes the lengths in ms of those frames in which an event came, until the function that it returns is called. */
  function watch(type) {
    const lengths = [];
    let hasCome = false;
    let watches = true;
    const listen = () => (hasCome = true);
    addEventListener(type, listen, true);
    (async () => {
      for (let last = performance.now(); watches; ) {
        await frame();
        const now = performance.now();
        if (hasCome) lengths.push(now - last);
        hasCome = false;
        last = now;
      }
    })();
    return () => {
      watches = false;
      removeEventListener(type, listen, true);
      return lengths;
    };
  }

  /** The browser's own measure: ms from a click or key to the next picture, the longest so far. */
  let longest = 0;
  new PerformanceObserver((list) => {
    for (const { interactionId, duration } of list.getEntries()) {
      if (interactionId) longest = Math.max(longest, duration);
    }
  }).observe({ type: "event", durationThreshold: 16, buffered: true });

  /** The root of the linked view, in the page or inside one of Streamlit's components; null if there is none yet. */
  function view() {
    const hosts = [...document.querySelectorAll("[data-testid=stBidiComponentIsolated]")];
    const places = [document, ...hosts.map((host) => host.shadowRoot)];
    return places.map((place) => place?.querySelector(".headlight")).find(Boolean) ?? null;
  }

  /** Whether the linked view is there and has drawn everything. */
  function isDrawn() {
    return view()?.ariaBusy === "false";
  }

  /** Bytes that websockets received. */
  let received = 0;
  globalThis.WebSocket = class extends WebSocket {
    constructor(...parameters) {
      super(...parameters);
      this.addEventListener("message", ({ data }) => (received += data.byteLength ?? data.size ?? data.length));
    }
  };

  return {
    there,
    painted,
    since,
    watch,
    view,
    isDrawn,
    get longest() {
      return longest;
    },
    get received() {
      return received;
    },
  };
})();
