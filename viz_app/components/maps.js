export default ({ data }) => {
  const slot = ((globalThis.headlightViews ??= {})[data.view] ??= {});
  slot.maps = data;
  slot.deliver?.();
  return () => {
    if (slot.maps === data) delete slot.maps;
  };
};
