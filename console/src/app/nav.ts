import { Gauge, Hand, ListTree, MessagesSquare, type LucideIcon } from "lucide-react";
import type { Key } from "./i18n/i18n";

export interface Place {
  to: "/" | "/approvals" | "/runs" | "/threads";
  word: Key;
  icon: LucideIcon;
  /** Typed after g. */
  key: string;
}

/** The pages in the sidebar, the palette and the help of keys. */
export const places: Place[] = [
  { to: "/", word: "nav.overview", icon: Gauge, key: "o" },
  { to: "/approvals", word: "nav.approvals", icon: Hand, key: "a" },
  { to: "/runs", word: "nav.runs", icon: ListTree, key: "r" },
  { to: "/threads", word: "nav.threads", icon: MessagesSquare, key: "t" },
];
