export function handleKey(view, event) {}
