export default ({ data, setStateValue }) => {
  const slot = ((globalThis.headlightViews ??= {})[data.view] ??= {});
  slot.message = data;
  slot.tell = setStateValue;
  slot.deliver?.();
};
