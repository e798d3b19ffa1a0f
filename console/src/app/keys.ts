import { useNavigate } from "@tanstack/react-router";
import { useEffect, useRef } from "react";
import { keysEnabled, typing } from "../ui/keyboard";
import { places } from "./nav";

/** useKeys binds the keys that work on every page. All of what they do has a button, too. */
export function useKeys(openPalette: () => void, openHelp: () => void) {
  const navigate = useNavigate();
  const going = useRef(0);
  useEffect(() => {
    const key = (e: KeyboardEvent) => {
      if ((e.metaKey || e.ctrlKey) && e.key.toLowerCase() === "k") {
        e.preventDefault();
        openPalette();
        return;
      }
      if (e.metaKey || e.ctrlKey || e.altKey || typing(e) || !keysEnabled() || document.querySelector("[role=dialog]")) return;
      if (Date.now() - going.current < 1200) {
        going.current = 0;
        const place = places.find((p) => p.key === e.key);
        if (place) {
          e.preventDefault();
          void navigate({ to: place.to });
        }
        return;
      }
      switch (e.key) {
        case "g":
          going.current = Date.now();
          break;
        case "?":
          openHelp();
          break;
        case "/": {
          const filter = document.querySelector<HTMLElement>("[data-filter]");
          if (filter) {
            e.preventDefault();
            filter.focus();
          }
        }
      }
    };
    document.addEventListener("keydown", key);
    return () => document.removeEventListener("keydown", key);
  }, [navigate, openPalette, openHelp]);
}
