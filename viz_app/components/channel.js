export default ({ data }) => {
  const slot = ((globalThis.headlightViews ??= {})[data.view] ??= {});
  slot.message = data;
  slot.deliver?.();
};
