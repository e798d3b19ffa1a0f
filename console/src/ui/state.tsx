import { CircleAlert, CloudOff, Inbox, KeyRound, Lock, SearchX, Unplug, type LucideIcon } from "lucide-react";
import { useNavigate, useRouterState } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { UseQueryResult } from "@tanstack/react-query";
import { ApiError, kindOf, type Kind } from "../api/errors";
import { useLanguage, type Key } from "../i18n/i18n";
import { Button } from "./button";

const looks: Record<Kind, { icon: LucideIcon; title: Key; hint: Key }> = {
  unreachable: { icon: CloudOff, title: "state.unreachable", hint: "state.unreachableHint" },
  signIn: { icon: KeyRound, title: "state.signIn", hint: "state.signInHint" },
  noPermission: { icon: Lock, title: "state.noPermission", hint: "state.noPermissionHint" },
  notThere: { icon: SearchX, title: "state.notThere", hint: "state.notThereHint" },
  notInThisServer: { icon: Unplug, title: "state.notInThisServer", hint: "state.notInThisServerHint" },
  conflict: { icon: CircleAlert, title: "state.conflict", hint: "state.conflictHint" },
  failed: { icon: CircleAlert, title: "state.failed", hint: "state.failedHint" },
};

function Notice({ icon: Icon, title, children, tone = "text-muted", role, top }: { icon: LucideIcon; title: string; children?: ReactNode; tone?: string; role?: "alert"; top?: boolean }) {
  const Heading = top ? "h1" : "h2";
  return (
    <div role={role} className="mx-auto flex max-w-md flex-col items-center gap-2 px-4 py-12 text-center">
      <Icon aria-hidden className={`size-6 ${tone}`} />
      <Heading className="text-title font-semibold">{title}</Heading>
      {children}
    </div>
  );
}

/** Failure says in words what went wrong, with the code and the id of the request for the logs, and what to do. */
export function Failure({ error, retry }: { error: unknown; retry?: () => void }) {
  const { t } = useLanguage();
  const navigate = useNavigate();
  const here = useRouterState({ select: (s) => s.location.href });
  const kind = kindOf(error);
  const look = looks[kind];
  const api = error instanceof ApiError ? error : null;
  return (
    <Notice icon={look.icon} title={t(look.title)} role="alert" tone={kind === "failed" ? "text-fail" : "text-muted"}>
      <p className="text-muted">{t(look.hint)}</p>
      {api && api.status !== 0 && <p className="[overflow-wrap:anywhere]">{api.message}</p>}
      {!api && error instanceof Error && <p className="[overflow-wrap:anywhere]">{error.message}</p>}
      {api && (
        <p className="mono text-muted">
          {api.code}
          {api.requestId && <> · {api.requestId}</>}
        </p>
      )}
      <div className="mt-2 flex gap-2">
        {(kind === "signIn" || kind === "noPermission") && (
          <Button kind="primary" onClick={() => void navigate({ to: "/sign-in", search: { next: here } })}>
            {t("session.signIn")}
          </Button>
        )}
        {retry && kind !== "notThere" && <Button onClick={retry}>{t("state.retry")}</Button>}
      </div>
    </Notice>
  );
}

/** Empty says what would be here, and how to make one. */
export function Empty({ title, children, icon = Inbox, top }: { title: string; children?: ReactNode; icon?: LucideIcon; top?: boolean }) {
  return (
    <Notice icon={icon} title={title} top={top}>
      <div className="text-muted">{children}</div>
    </Notice>
  );
}

/** Skeleton has the rows of a list before they are there. It appears after 150 ms. */
export function Skeleton({ rows = 6 }: { rows?: number }) {
  const { t } = useLanguage();
  return (
    <div role="status" aria-label={t("state.loading")} className="flex flex-col gap-3 p-4">
      {Array.from({ length: rows }, (_, i) => (
        <div key={i} className="skeleton h-4" style={{ width: `${90 - ((i * 17) % 40)}%` }} />
      ))}
    </div>
  );
}

/** Loaded shows the data of a query, or why there is none. Data that could not be refreshed stays, with a line that says so. */
export function Loaded<T>({ query, rows, children }: { query: UseQueryResult<T>; rows?: number; children: (data: T) => ReactNode }) {
  const { t, time } = useLanguage();
  if (query.data !== undefined) {
    return (
      <>
        {query.isError && (
          <div role="status" className="flex flex-wrap items-center gap-2 border-b border-line bg-sunken px-4 py-1 text-dense text-wait">
            <CloudOff aria-hidden className="size-3.5" />
            <span>{t("state.stale", { time: time(query.dataUpdatedAt) })}</span>
            <button type="button" className="link" onClick={() => void query.refetch()}>
              {t("state.retry")}
            </button>
          </div>
        )}
        {children(query.data)}
      </>
    );
  }
  if (query.isError) return <Failure error={query.error} retry={() => void query.refetch()} />;
  return <Skeleton rows={rows} />;
}
