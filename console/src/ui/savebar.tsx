import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useBlocker } from "@tanstack/react-router";
import { Check, CircleAlert, GitCompare, RotateCcw, Save, Send, Trash2 } from "lucide-react";
import { useEffect, useMemo, useState, type ReactNode } from "react";
import { api } from "../api/client";
import { call, discardDraft, liveQuery, metaQuery, present, problemsOf, removalPreview, remove, save, type Doc, type Namespace, type Read } from "../api/config";
import { ApiError } from "../api/errors";
import { useSession } from "../api/session";
import { useLanguage, type Key } from "../i18n/i18n";
import { Button } from "./button";
import { Code } from "./code";
import { differences } from "./diff";
import { useLabel } from "./docform";
import type { Editing } from "./editing";
import { gatesOf, overriding, Refused } from "./gate";
import { Overlay } from "./overlay";
import { Ago } from "./time";

/** useWhy says why the caller may not change the configuration, or undefined. */
export function useWhy(): string | undefined {
  const { t } = useLanguage();
  const session = useSession();
  if (session?.may.config) return undefined;
  return t(session?.may.admin ? "may.tenantAdmin" : "may.config");
}

export const pretty = (doc: unknown) => JSON.stringify(doc, null, 2);

/** Guard asks before an edit that was not saved is left. One that the browser keeps can also be left for later. */
export function Guard({ dirty, stays, discard, keeps = true }: { dirty: boolean; stays: (path: string) => boolean; discard: () => void; keeps?: boolean }) {
  const { t } = useLanguage();
  const { status, proceed, reset } = useBlocker({ shouldBlockFn: ({ next }) => dirty && !stays(next.pathname), enableBeforeUnload: () => dirty, withResolver: true });
  return (
    <Overlay open={status === "blocked"} onOpenChange={(open) => !open && reset?.()} title={t("edit.leaveTitle")} className="p-4">
      <h2 className="mb-1 text-title font-semibold">{t("edit.leaveTitle")}</h2>
      <p className="mb-4 text-muted">{t(keeps ? "edit.leaveHint" : "edit.leaveForgets")}</p>
      <div className="flex flex-wrap justify-end gap-2">
        <Button onClick={() => reset?.()}>{t("edit.keepEditing")}</Button>
        {keeps && <Button onClick={() => proceed?.()}>{t("edit.leave")}</Button>}
        <Button
          kind="danger"
          onClick={() => {
            discard();
            proceed?.();
          }}
        >
          {t("edit.discard")}
        </Button>
      </div>
    </Overlay>
  );
}

let told = { about: "", text: "" };

/** tell leaves a word for the page of a document that is opened next. */
export const tell = (about: string, text: string) => void (told = { about, text });

/** useTold returns what was left for the page of a document, and what it says since. */
export function useTold(about: string) {
  const state = useState(() => (told.about === about ? told.text : ""));
  useEffect(() => tell("", ""), []);
  return state;
}

/** SaveBar says in what state an edit is, and saves it: as a draft, for new runs, or for a share of them. */
export function SaveBar({ ns, id, editing, done, extra }: { ns: Namespace; id: string; editing: Editing; done: (read: Read, how: "draft" | "live" | "canary") => void; extra?: ReactNode }) {
  const { t, time } = useLanguage();
  const client = useQueryClient();
  const why = useWhy();
  const live = useQuery(liveQuery(ns, id));
  const meta = useQuery(metaQuery(ns, id));
  const [diff, setDiff] = useState(false);
  const [publish, setPublish] = useState(false);
  const hasDraft = meta.data?.draft === true;
  const errors = editing.problems.filter((p) => p.severity !== "warning");
  const warnings = editing.problems.length - errors.length;
  const write = useMutation({
    mutationFn: async ({ how, note, share, minRuns, override }: { how: "draft" | "live" | "canary"; note?: string; share?: number; minRuns?: number; override?: string }) => {
      const key = id || String(editing.doc.id ?? "");
      let read: Read = editing.base;
      const builtin = meta.data?.source.kind === "builtin";
      if (how === "live" && !note && !hasDraft) read = await save(ns, id, editing.doc, { publish: true, etag: editing.base.etag, builtin, live: live.data, headers: overriding(override) });
      else {
        if (editing.dirty || id === "") read = await save(ns, id, editing.doc, { publish: false, etag: editing.base.etag });
        if (how !== "draft") {
          await call("POST", "/v1/registry/publish", { ...(note ? { note } : {}), records: [{ namespace: ns, id: key }], ...(how === "canary" ? { canary: { share, rule: { min_runs: minRuns, max_error_rate: 0.05, max_cost_ratio: 1.2 } } } : {}) }, overriding(override));
          const { data, ...now } = await call("GET", `/v1/config/${ns}/${encodeURIComponent(key)}`);
          read = { doc: data as Doc, ...now };
        }
      }
      return { read, how };
    },
    onSuccess: ({ read, how }) => {
      setPublish(false);
      editing.saved(read);
      for (const queryKey of [["config"], ["versions"], ["agents"]]) void client.invalidateQueries({ queryKey });
      done(read, how);
    },
    onError: (err) => {
      if (err instanceof ApiError && (err.status === 412 || err.status === 409)) void client.invalidateQueries({ queryKey: ["config", ns] });
    },
  });
  const drop = useMutation({
    mutationFn: async () => {
      await discardDraft(ns, id);
      editing.discard();
    },
    onSettled: () => client.invalidateQueries({ queryKey: ["config"] }),
  });
  const stale = write.error instanceof ApiError && write.error.status === 412;
  const failed = write.error ?? drop.error;
  const blocked = why ?? (errors.length > 0 ? t("edit.hasProblems", { n: errors.length }) : editing.theirs ? t("edit.changedElsewhere") : undefined);
  const changes = live.data ? differences(live.data, editing.doc).length : 0;
  return (
    <div className="sticky top-0 z-10 flex flex-col gap-2 border-b border-line bg-bg px-4 py-2">
      <div className="flex flex-wrap items-center gap-2">
        <span role="status" className="flex items-center gap-1.5">
          {editing.dirty ? (
            <span className="font-medium text-wait">{t("edit.unsaved")}</span>
          ) : hasDraft ? (
            <span className="font-medium text-run">
              {t("edit.draft")} <Ago at={meta.data?.updated_at} />
            </span>
          ) : id ? (
            <span className="flex items-center gap-1 text-muted">
              <Check aria-hidden className="size-3.5 text-ok" />
              {t("edit.live")}
            </span>
          ) : null}
          {editing.dirty && errors.length > 0 && <span className="text-fail">· {t("edit.problems", { n: errors.length })}</span>}
          {editing.dirty && warnings > 0 && <span className="text-wait">· {t("edit.warnings", { n: warnings })}</span>}
          {editing.dirty && editing.checked && editing.problems.length === 0 && <span className="text-ok">· {t("edit.valid")}</span>}
        </span>
        <div className="ml-auto flex flex-wrap items-center gap-2">
          {extra}
          {editing.dirty && (
            <Button kind="quiet" onClick={editing.discard}>
              <RotateCcw aria-hidden className="size-3.5" />
              {t("edit.discard")}
            </Button>
          )}
          {!editing.dirty && hasDraft && (
            <Button kind="quiet" why={why} disabled={drop.isPending} onClick={() => drop.mutate()}>
              <Trash2 aria-hidden className="size-3.5" />
              {t("edit.discardDraft")}
            </Button>
          )}
          {live.data && changes > 0 && (
            <Button onClick={() => setDiff(true)}>
              <GitCompare aria-hidden className="size-3.5" />
              {t("edit.diff", { n: changes })}
            </Button>
          )}
          <Button why={blocked ?? (!editing.dirty && id !== "" ? t("why.unchanged") : undefined)} disabled={write.isPending} onClick={() => write.mutate({ how: "draft" })}>
            <Save aria-hidden className="size-3.5" />
            {t("edit.saveDraft")}
          </Button>
          <Button kind="primary" why={blocked ?? (!editing.dirty && !hasDraft && id !== "" ? t("why.unchanged") : undefined)} disabled={write.isPending} onClick={() => setPublish(true)}>
            <Send aria-hidden className="size-3.5" />
            {t("edit.publish")}
          </Button>
        </div>
      </div>
      {editing.restored !== undefined && editing.dirty && (
        <p role="status" className="text-dense text-wait">
          {t("edit.restored", { time: time(editing.restored) })}{" "}
          <button type="button" className="link" onClick={editing.discard}>
            {t("edit.discard")}
          </button>
        </p>
      )}
      {failed && !stale && !(publish && gatesOf(failed)) && problemsOf(failed).length === 0 && (
        <p role="alert" className="text-fail [overflow-wrap:anywhere]">
          {failed.message}
        </p>
      )}
      {editing.theirs && <Conflict ns={ns} id={id} editing={editing} theirs={editing.theirs} />}
      {diff && live.data && (
        <Overlay open onOpenChange={setDiff} title={t("edit.diffTitle")} className="w-[min(960px,calc(100vw-24px))]! p-4">
          <h2 className="mb-3 text-title font-semibold">{t("edit.diffTitle")}</h2>
          <Code label={t("edit.diffTitle")} value={pretty(editing.doc)} original={pretty(live.data)} />
        </Overlay>
      )}
      {publish && <Publish pending={write.isPending} error={write.error} first={!live.data} close={() => setPublish(false)} go={(v) => write.mutate(v)} live={live.data} doc={editing.doc} id={id} />}
    </div>
  );
}

function Publish({ pending, error, close, go, live, doc, first, id }: { pending: boolean; error: Error | null; first: boolean; close: () => void; go: (v: { how: "live" | "canary"; note?: string; share?: number; minRuns?: number; override?: string }) => void; live?: Doc | null; doc: Doc; id: string }) {
  const { t } = useLanguage();
  const [how, setHow] = useState<"live" | "canary">("live");
  const [note, setNote] = useState("");
  const [share, setShare] = useState(10);
  const [minRuns, setMinRuns] = useState(50);
  const counts = useQuery({ queryKey: ["runs", "openOf", id], queryFn: ({ signal }) => api.GET("/v1/runs", { params: { query: { agent_id: id, status: "running", limit: 1 } }, signal }).then((r) => r.data), enabled: id !== "" });
  const n = live ? differences(live, doc).length : 0;
  const gates = gatesOf(error);
  const send = (override?: string) => go({ how, note: note.trim() || undefined, ...(how === "canary" && { share: share / 100, minRuns }), override });
  return (
    <Overlay open onOpenChange={(o) => !o && close()} title={t("edit.publish")} className="p-4">
      <form
        className="flex flex-col gap-3"
        onSubmit={(e) => {
          e.preventDefault();
          send();
        }}
      >
        <h2 className="text-title font-semibold">{t("edit.publish")}</h2>
        <p className="text-muted">{first ? t("edit.publishFirst") : t("edit.publishHint", { n })}</p>
        {(counts.data?.total ?? 0) > 0 && <p className="text-muted">{t("edit.publishRuns", { n: counts.data!.total })}</p>}
        <fieldset className="flex flex-col gap-2">
          <legend className="sr-only">{t("edit.how")}</legend>
          <label className="flex items-center gap-2">
            <input type="radio" name="how" checked={how === "live"} onChange={() => setHow("live")} />
            {t("edit.now")}
          </label>
          <label className="flex items-center gap-2">
            <input type="radio" name="how" checked={how === "canary"} disabled={first} onChange={() => setHow("canary")} />
            {t("edit.asCanary")}
          </label>
        </fieldset>
        {how === "canary" && (
          <div className="flex flex-wrap gap-3">
            <label className="flex flex-col gap-1 font-medium">
              {t("canary.share")}
              <input className="field w-28 font-normal" type="number" min={1} max={100} value={share} onChange={(e) => setShare(Number(e.target.value))} />
            </label>
            <label className="flex flex-col gap-1 font-medium">
              {t("canary.minRuns")}
              <input className="field w-28 font-normal" type="number" min={1} value={minRuns} onChange={(e) => setMinRuns(Number(e.target.value))} />
            </label>
            <p className="w-full text-dense text-muted">{t("canary.ruleHint")}</p>
          </div>
        )}
        <label className="flex flex-col gap-1 font-medium">
          {t("edit.note")}
          <input className="field font-normal" value={note} onChange={(e) => setNote(e.target.value)} placeholder={t("edit.noteHint")} />
        </label>
        {gates && <Refused gates={gates} pending={pending} override={send} />}
        {error && !gates && (
          <p role="alert" className="text-fail [overflow-wrap:anywhere]">
            {error.message}
          </p>
        )}
        <div className="flex justify-end gap-2">
          <Button onClick={close}>{t("action.cancel")}</Button>
          <Button kind="primary" type="submit" disabled={pending}>
            {how === "live" ? t("edit.publishNow") : t("edit.startCanary")}
          </Button>
        </div>
      </form>
    </Overlay>
  );
}

/** Conflict shows what another writer changed beside what is being changed here, field by field. */
function Conflict({ ns, id, editing, theirs }: { ns: Namespace; id: string; editing: Editing; theirs: Read }) {
  const { t } = useLanguage();
  const label = useLabel();
  const meta = useQuery(metaQuery(ns, id));
  const fields = useMemo(() => {
    const names = new Set([...Object.keys(editing.base.doc), ...Object.keys(theirs.doc), ...Object.keys(editing.doc)]);
    const eq = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b);
    return [...names].sort().map((name) => {
      const b = editing.base.doc[name];
      const mine = editing.doc[name];
      const other = theirs.doc[name];
      return { name, mine, other, both: !eq(mine, b) && !eq(other, b) && !eq(mine, other), mineChanged: !eq(mine, b) };
    });
  }, [editing.base, editing.doc, theirs]);
  const both = fields.filter((f) => f.both);
  const [picks, setPicks] = useState<Record<string, "mine" | "theirs">>({});
  const merge = () => {
    const doc: Doc = {};
    for (const f of fields) {
      const value = f.both ? (picks[f.name] === "theirs" ? f.other : f.mine) : f.mineChanged ? f.mine : f.other;
      if (value !== undefined) doc[f.name] = value;
    }
    editing.rebase(doc, theirs);
  };
  return (
    <section aria-label={t("edit.conflict")} className="panel flex flex-col gap-2 border-wait p-3">
      <h2 className="flex items-center gap-2 font-semibold text-wait">
        <CircleAlert aria-hidden className="size-4" />
        {t("edit.conflict")}
      </h2>
      <p className="text-muted">{both.length === 0 ? t("edit.conflictNone", { who: meta.data?.updated_by ?? "" }) : t("edit.conflictSome", { who: meta.data?.updated_by ?? "" })}</p>
      {both.map((f) => (
        <fieldset key={f.name} className="grid gap-2 md:grid-cols-2">
          <legend className="mb-1 font-medium">{label(f.name)}</legend>
          {(["mine", "theirs"] as const).map((side) => (
            <label key={side} className="flex min-w-0 items-start gap-2 rounded-md bg-sunken p-2">
              <input type="radio" name={f.name} checked={(picks[f.name] ?? "mine") === side} onChange={() => setPicks({ ...picks, [f.name]: side })} />
              <span className="min-w-0 flex-1">
                <span className="block text-dense font-semibold text-muted">{t(`edit.${side}` as Key)}</span>
                <span className="mono [overflow-wrap:anywhere] whitespace-pre-wrap">{show(side === "mine" ? f.mine : f.other)}</span>
              </span>
            </label>
          ))}
        </fieldset>
      ))}
      <div className="flex gap-2">
        <Button kind="primary" onClick={merge}>
          {t("edit.merge")}
        </Button>
        <Button kind="quiet" onClick={() => editing.saved(theirs)}>
          {t("edit.takeTheirs")}
        </Button>
      </div>
    </section>
  );
}

const show = (v: unknown) => (v === undefined ? "–" : typeof v === "string" ? v : pretty(v));

/** RemoveButton shows what goes and who uses it, then removes. */
export function RemoveButton({ ns, id, done }: { ns: Namespace; id: string; done: () => Promise<void> }) {
  const { t } = useLanguage();
  const why = useWhy();
  const client = useQueryClient();
  const [open, setOpen] = useState(false);
  const preview = useQuery({ queryKey: ["config", ns, "removal", id], queryFn: () => removalPreview(ns, id), enabled: () => open && present(ns, id)(), staleTime: 0 });
  const go = useMutation({
    mutationFn: () => remove(ns, id, done),
    onSuccess: () => {
      for (const queryKey of [["config"], ["agents"]]) void client.invalidateQueries({ queryKey });
    },
  });
  const p = preview.data;
  return (
    <>
      <Button kind="danger" why={why} onClick={() => setOpen(true)}>
        <Trash2 aria-hidden className="size-3.5" />
        {t("action.remove")}
      </Button>
      <Overlay open={open} onOpenChange={setOpen} title={t("remove.title", { id })} className="p-4">
        <h2 className="mb-2 text-title font-semibold">{t("remove.title", { id })}</h2>
        {preview.isError && <p className="text-fail">{preview.error.message}</p>}
        {p && (
          <div className="flex flex-col gap-2">
            {p.used_by.length > 0 ? (
              <>
                <p>{t(p.allowed ? "remove.affects" : "remove.usedBy", { n: p.used_by.length })}</p>
                <ul className="mono flex max-h-40 flex-wrap gap-1.5 overflow-auto" tabIndex={0} aria-label={t("remove.users")}>
                  {p.used_by.map((u) => (
                    <li key={u.namespace + u.id} className="rounded-sm bg-sunken px-2">
                      {u.namespace}/{u.id}
                    </li>
                  ))}
                </ul>
              </>
            ) : (
              <p className="text-muted">{t("remove.unused")}</p>
            )}
            {p.open_runs > 0 && <p className="text-wait">{t("remove.runs", { n: p.open_runs })}</p>}
          </div>
        )}
        {go.error && (
          <p role="alert" className="mt-2 text-fail [overflow-wrap:anywhere]">
            {go.error.message}
          </p>
        )}
        <div className="mt-4 flex justify-end gap-2">
          <Button onClick={() => setOpen(false)}>{t("action.cancel")}</Button>
          <Button kind="danger" disabled={!p || !p.allowed || go.isPending} onClick={() => go.mutate()}>
            {t("remove.go", { id })}
          </Button>
        </div>
      </Overlay>
    </>
  );
}
