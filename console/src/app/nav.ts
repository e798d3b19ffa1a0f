import { BookOpen, Bot, Boxes, CalendarClock, ChartColumn, Columns3, Cpu, FlaskConical, Gauge, GitBranch, Hand, KeyRound, Layers, ListChecks, ListTree, MessagesSquare, Network, Plug, ScrollText, Server, Settings, Sparkles, Telescope, Webhook, Wrench, Zap, type LucideIcon } from "lucide-react";
import type { Key } from "../i18n/i18n";

export interface Place {
  to: string;
  word: Key;
  icon: LucideIcon;
  /** Typed after g. */
  key?: string;
}

export interface Group {
  /** The first group has no name: its pages are those of every day, and are at hand on phones. */
  word?: Key;
  places: Place[];
}

/** The pages in the sidebar, the palette and the help of keys. */
export const groups: Group[] = [
  {
    places: [
      { to: "/", word: "nav.overview", icon: Gauge, key: "o" },
      { to: "/approvals", word: "nav.approvals", icon: Hand, key: "a" },
      { to: "/runs", word: "nav.runs", icon: ListTree, key: "r" },
      { to: "/threads", word: "nav.threads", icon: MessagesSquare, key: "t" },
    ],
  },
  {
    word: "nav.agentsGroup",
    places: [
      { to: "/agents", word: "nav.agents", icon: Bot, key: "e" },
      { to: "/compare", word: "nav.compare", icon: Columns3 },
      { to: "/tools", word: "nav.tools", icon: Wrench },
      { to: "/skills", word: "nav.skills", icon: BookOpen },
      { to: "/assistant", word: "nav.assistant", icon: Sparkles },
    ],
  },
  {
    word: "nav.rollout",
    places: [
      { to: "/versions", word: "nav.versions", icon: GitBranch, key: "v" },
      { to: "/datasets", word: "nav.datasets", icon: FlaskConical, key: "d" },
      { to: "/evals", word: "nav.evals", icon: ListChecks, key: "l" },
    ],
  },
  {
    word: "nav.operate",
    places: [
      { to: "/queue", word: "nav.queue", icon: Layers, key: "q" },
      { to: "/cost", word: "nav.cost", icon: ChartColumn, key: "c" },
      { to: "/traces", word: "nav.traces", icon: Telescope },
      { to: "/audit", word: "nav.audit", icon: ScrollText, key: "u" },
    ],
  },
  {
    word: "nav.automate",
    places: [
      { to: "/schedules", word: "nav.schedules", icon: CalendarClock, key: "s" },
      { to: "/triggers", word: "nav.triggers", icon: Zap },
      { to: "/webhooks", word: "nav.webhooks", icon: Webhook },
    ],
  },
  {
    word: "nav.connectGroup",
    places: [
      { to: "/providers", word: "nav.providers", icon: Server },
      { to: "/models", word: "nav.models", icon: Cpu },
      { to: "/pools", word: "nav.pools", icon: Boxes },
      { to: "/mcp-servers", word: "nav.mcp", icon: Plug },
      { to: "/a2a-servers", word: "nav.a2a", icon: Network },
      { to: "/keys", word: "nav.keys", icon: KeyRound },
      { to: "/system", word: "nav.system", icon: Settings },
    ],
  },
];

export const places = groups.flatMap((g) => g.places);
