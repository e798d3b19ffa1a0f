const KEYS = "awaken.keys";

/** keysEnabled reports whether the user wants keys that work without a modifier. */
export const keysEnabled = () => localStorage.getItem(KEYS) !== "off";
export const enableKeys = (on: boolean) => localStorage.setItem(KEYS, on ? "on" : "off");

/** typing reports whether a key belongs to a field. */
export const typing = (e: KeyboardEvent) => {
  const target = e.composedPath()[0]; // editors are in shadow roots
  return target instanceof HTMLElement && target.closest("input,textarea,select,[contenteditable]") !== null;
};
