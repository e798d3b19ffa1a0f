import { useSyncExternalStore } from "react";

const narrow = window.matchMedia("(max-width: 767px)");

/** usePhone reports whether the page is as narrow as a phone. */
export const usePhone = () =>
  useSyncExternalStore(
    (changed) => {
      narrow.addEventListener("change", changed);
      return () => narrow.removeEventListener("change", changed);
    },
    () => narrow.matches,
  );
