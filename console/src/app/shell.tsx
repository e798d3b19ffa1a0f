import { Dialog } from "@base-ui/react/dialog";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, Outlet, useNavigate, useRouterState } from "@tanstack/react-router";
import { KeyRound, Keyboard, Languages, LogOut, Menu, Monitor, Moon, Search, Sun } from "lucide-react";
import { useCallback, useEffect, useRef, useState } from "react";
import { sessionQuery, signOut, useRenewal, useSession } from "../api/session";
import { waitingQuery } from "../features/approvals/queries";
import { useLanguage } from "../i18n/i18n";
import { Live, useFeedState, usePolling } from "../live/live";
import { enableKeys, keysEnabled } from "../ui/keyboard";
import { Overlay } from "../ui/overlay";
import { Failure } from "../ui/state";
import { useKeys } from "./keys";
import { groups, places } from "./nav";
import { Palette } from "./palette";
import { TenantSwitch } from "./tenant";
import { useTheme } from "./theme";

const tool = "touch inline-flex size-8 items-center justify-center rounded-md text-muted hover:bg-sunken hover:text-text";

/** Shell is what surrounds every page. It shows none before it knows what the caller may do. */
export function Shell() {
  const session = useQuery(sessionQuery);
  useRenewal();
  if (session.data) {
    const { key, tenant, may } = session.data;
    const frame = <Frame />;
    return may.read ? <Live who={`${key?.id ?? ""} ${tenant}`}>{frame}</Live> : frame;
  }
  if (session.isError) return <Failure error={session.error} retry={() => void session.refetch()} />;
  return null;
}

function Frame() {
  const { t } = useLanguage();
  const [palette, setPalette] = useState(false);
  const [help, setHelp] = useState(false);
  const [drawer, setDrawer] = useState(false);
  useKeys(
    useCallback(() => setPalette(true), []),
    useCallback(() => setHelp(true), []),
  );
  const session = useSession();
  const signingIn = useRouterState({ select: (s) => s.matches.some((m) => m.routeId === "/sign-in") }); // what is shown, not where it leads
  const skip = () => document.getElementById("main")?.focus();
  return (
    <div className="flex h-full">
      <button type="button" onClick={skip} className="sr-only focus:not-sr-only focus:absolute focus:top-2 focus:left-2 focus:z-50 focus:rounded-md focus:bg-panel focus:px-3 focus:py-2">
        {t("shell.skip")}
      </button>
      <aside className="hidden w-52 shrink-0 flex-col border-r border-line bg-panel md:flex">
        <Sidebar />
      </aside>
      <Dialog.Root open={drawer} onOpenChange={setDrawer}>
        <Dialog.Portal>
          <Dialog.Backdrop className="fixed inset-0 z-40 bg-[rgb(0_0_0/0.4)]" />
          <Dialog.Popup className="fixed inset-y-0 left-0 z-50 flex w-64 flex-col border-r border-line bg-panel shadow-overlay">
            <Dialog.Title className="sr-only">{t("shell.menu")}</Dialog.Title>
            <Sidebar leave={() => setDrawer(false)} />
          </Dialog.Popup>
        </Dialog.Portal>
      </Dialog.Root>
      <div className="flex min-w-0 flex-1 flex-col">
        <div role="banner" className="flex h-12 shrink-0 items-center gap-1 border-b border-line bg-panel px-2">
          <button type="button" className={`${tool} md:hidden`} aria-label={t("shell.menu")} onClick={() => setDrawer(true)}>
            <Menu aria-hidden className="size-4" />
          </button>
          <button type="button" onClick={() => setPalette(true)} className="touch mr-auto flex h-8 min-w-0 items-center gap-2 rounded-md border border-line px-2 text-muted hover:bg-sunken sm:w-64">
            <Search aria-hidden className="size-4 shrink-0" />
            <span className="truncate max-sm:sr-only">{t("palette.placeholder")}</span>
            <kbd aria-hidden className="mono ml-auto max-sm:hidden">
              ⌘K
            </kbd>
          </button>
          <TenantSwitch />
          {session?.may.read && <LiveDot />}
          <ThemeButton />
          <LocaleButton />
          <button type="button" className={`${tool} max-sm:hidden`} aria-label={t("keys.title")} title={t("keys.title")} onClick={() => setHelp(true)}>
            <Keyboard aria-hidden className="size-4" />
          </button>
          <Who />
        </div>
        <main id="main" tabIndex={-1} className="min-h-0 flex-1 outline-none">
          {session?.may.read || signingIn ? <Outlet /> : <SignInFirst />}
        </main>
        <nav aria-label={t("shell.shortcuts")} className="flex shrink-0 border-t border-line bg-panel md:hidden">
          {groups[0]!.places.map((p) => (
            <Link key={p.to} to={p.to} activeOptions={{ exact: p.to === "/" }} className="flex min-h-12 flex-1 flex-col items-center justify-center text-caption text-muted data-[status=active]:text-accent">
              <p.icon aria-hidden className="size-4" />
              {t(p.word)}
            </Link>
          ))}
        </nav>
      </div>
      <Palette open={palette} onOpenChange={setPalette} />
      <Help open={help} onOpenChange={setHelp} />
    </div>
  );
}

function SignInFirst() {
  const { t } = useLanguage();
  const here = useRouterState({ select: (s) => s.location.href });
  return (
    <div className="mx-auto flex max-w-md flex-col items-center gap-3 px-4 py-16 text-center">
      <KeyRound aria-hidden className="size-6 text-muted" />
      <h1 className="text-page font-semibold">{t("state.signIn")}</h1>
      <p className="text-muted">{t("state.signInHint")}</p>
      <Link to="/sign-in" search={{ next: here }} className="touch inline-flex min-h-8 items-center rounded-md bg-accent px-4 font-medium text-on-accent">
        {t("session.signIn")}
      </Link>
    </div>
  );
}

function Sidebar({ leave }: { leave?: () => void }) {
  const { t, number } = useLanguage();
  const session = useSession();
  const polling = usePolling();
  const waiting = useQuery({ ...waitingQuery, enabled: session?.may.read === true, refetchInterval: polling });
  const count = waiting.data?.total ?? 0;
  const nav = useRef<HTMLElement>(null);
  const here = useRouterState({ select: (s) => s.resolvedLocation?.pathname });
  useEffect(() => {
    nav.current?.querySelector("[data-status=active]")?.scrollIntoView({ block: "nearest" }); // the list may be longer than the window is high
  }, [here]);
  return (
    <>
      <div className="flex h-12 shrink-0 items-center gap-2 border-b border-line px-4 font-semibold">
        <svg aria-hidden viewBox="0 0 32 32" className="size-5">
          <rect width="32" height="32" rx="7" className="fill-accent" />
          <path d="M8 23 16 8l8 15" fill="none" className="stroke-on-accent" strokeWidth="3" strokeLinecap="round" strokeLinejoin="round" />
        </svg>
        Awaken
      </div>
      <nav ref={nav} aria-label={t("shell.pages")} className="flex flex-1 flex-col gap-0.5 overflow-auto p-2">
        {groups.map((g) => (
          <div key={g.word ?? ""} role={g.word ? "group" : undefined} aria-label={g.word && t(g.word)} className="flex flex-col gap-0.5">
            {g.word && <div className="mt-3 px-2 pb-0.5 text-caption font-semibold text-muted">{t(g.word)}</div>}
            {g.places.map((p) => (
              <Link
                key={p.to}
                to={p.to}
                onClick={leave}
                activeOptions={{ exact: p.to === "/" }}
                className="touch flex min-h-8 items-center gap-2.5 rounded-md px-2 text-muted hover:bg-sunken hover:text-text data-[status=active]:bg-sunken data-[status=active]:font-medium data-[status=active]:text-text"
              >
                <p.icon aria-hidden className="size-4" />
                {t(p.word)}
                {p.to === "/approvals" && count > 0 && (
                  <span className="mono ml-auto rounded-full bg-wait px-1.5 text-panel" title={t("approvals.waiting", { n: count })}>
                    {number(count)}
                    <span className="sr-only"> {t("approvals.waiting", { n: count })}</span>
                  </span>
                )}
              </Link>
            ))}
          </div>
        ))}
      </nav>
      <div className="border-t border-line px-4 py-2 text-caption text-muted">
        <div className="truncate" title={session?.version}>
          {t("shell.version", { version: session?.version ?? "" })}
        </div>
        {session?.tenant ? <div className="truncate">{t("shell.tenant", { tenant: session.tenant })}</div> : null}
      </div>
    </>
  );
}

/** LiveDot says whether the page is told of changes. */
function LiveDot() {
  const { t, time } = useLanguage();
  const { status, since } = useFeedState();
  const text = status === "lost" ? t("live.lost", { time: time(since) }) : t(`live.${status}`);
  const colour = { live: "bg-ok", lost: "bg-fail", connecting: "bg-idle", absent: "bg-wait" }[status];
  return (
    <span role="status" title={text} className="flex items-center gap-1.5 px-2 text-dense text-muted">
      <span aria-hidden className={`size-2 rounded-full ${colour}`} />
      <span className={status === "lost" ? "" : "max-lg:sr-only"}>{text}</span>
    </span>
  );
}

function ThemeButton() {
  const { t } = useLanguage();
  const [theme, setTheme] = useTheme();
  const next = theme === "light" ? "dark" : theme === "dark" ? "system" : "light";
  const Icon = { light: Sun, dark: Moon, system: Monitor }[theme];
  return (
    <button type="button" className={tool} onClick={() => setTheme(next)} aria-label={t("theme.is", { theme: t(`theme.${theme}`) })} title={t("theme.is", { theme: t(`theme.${theme}`) })}>
      <Icon aria-hidden className="size-4" />
    </button>
  );
}

function LocaleButton() {
  const { locale, setLocale } = useLanguage();
  const other = locale === "en" ? "zh-CN" : "en";
  const text = other === "en" ? "English" : "简体中文";
  return (
    <button type="button" lang={other} className={tool} onClick={() => setLocale(other)} aria-label={text} title={text}>
      <Languages aria-hidden className="size-4" />
    </button>
  );
}

function Who() {
  const { t } = useLanguage();
  const session = useSession();
  const client = useQueryClient();
  const navigate = useNavigate();
  const here = useRouterState({ select: (s) => s.location.href });
  if (!session?.key) {
    return (
      <Link to="/sign-in" search={{ next: here.startsWith("/sign-in") ? "/" : here }} className="touch ml-1 inline-flex h-8 items-center gap-1.5 rounded-md border border-border px-3 font-medium whitespace-nowrap hover:bg-sunken">
        <KeyRound aria-hidden className="size-4" />
        {t("session.signIn")}
      </Link>
    );
  }
  const { label, id, kind } = session.key;
  const out = async () => {
    await signOut(client);
    await navigate({ to: "/" });
  };
  return (
    <>
      <span className="flex max-w-56 min-w-0 gap-1 px-2 text-dense text-muted max-sm:hidden" title={`${label || id} · ${kind}`}>
        <span className="truncate">{label || id}</span>
        <span className="shrink-0">· {t(`kind.${kind}`)}</span>
      </span>
      {session.session && (
        <button type="button" className={tool} aria-label={t("session.signOut")} title={t("session.signOut")} onClick={() => void out()}>
          <LogOut aria-hidden className="size-4" />
        </button>
      )}
    </>
  );
}

function Help({ open, onOpenChange }: { open: boolean; onOpenChange: (open: boolean) => void }) {
  const { t } = useLanguage();
  const [on, setOn] = useState(keysEnabled);
  const keys: [string, string][] = [
    ["⌘K", t("palette.title")],
    ...places.filter((p) => p.key).map((p): [string, string] => [`g ${p.key}`, t("keys.go", { page: t(p.word) })]),
    ["/", t("keys.filter")],
    ["j k", t("keys.move")],
    ["Enter", t("keys.open")],
    ["x", t("keys.pick")],
    ["a a · r r", t("keys.decide")],
    ["?", t("keys.title")],
  ];
  return (
    <Overlay open={open} onOpenChange={onOpenChange} title={t("keys.title")} className="p-4">
      <h2 className="mb-3 text-title font-semibold">{t("keys.title")}</h2>
      <dl className="grid grid-cols-[auto_1fr] gap-x-6 gap-y-1.5">
        {keys.map(([k, what]) => (
          <div key={k} className="contents">
            <dt>
              <kbd className="mono rounded-sm border border-line bg-sunken px-1.5 py-0.5">{k}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <label className="mt-4 flex items-center gap-2">
        <input
          type="checkbox"
          checked={on}
          onChange={(e) => {
            enableKeys(e.target.checked);
            setOn(e.target.checked);
          }}
        />
        {t("keys.enabled")}
      </label>
    </Overlay>
  );
}
