import { useEffect, useState } from "react";

export type Theme = "light" | "dark" | "system";

const THEME = "awaken.admin.theme";
const dark = window.matchMedia("(prefers-color-scheme: dark)");

function chosen(): Theme {
  const t = localStorage.getItem(THEME);
  return t === "light" || t === "dark" ? t : "system";
}

function apply(theme: Theme) {
  document.documentElement.dataset.theme = theme === "system" ? (dark.matches ? "dark" : "light") : theme;
}

/** initTheme sets the theme before anything is shown. */
export function initTheme() {
  apply(chosen());
  dark.addEventListener("change", () => apply(chosen()));
}

export function useTheme(): [Theme, (theme: Theme) => void] {
  const [theme, setTheme] = useState(chosen);
  useEffect(() => {
    localStorage.setItem(THEME, theme);
    apply(theme);
  }, [theme]);
  return [theme, setTheme];
}
