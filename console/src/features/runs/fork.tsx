import { queryOptions, useMutation, useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { GitFork, Plus, X } from "lucide-react";
import { useEffect, useId, useState } from "react";
import { agentsQuery } from "../../api/agents";
import { api, ask } from "../../api/client";
import { call, capabilitiesQuery, problemsOf, type Doc } from "../../api/config";
import { ApiError } from "../../api/errors";
import { useLanguage, type Key } from "../../i18n/i18n";
import { useEvents } from "../../live/events";
import type { Fold } from "../../live/fold";
import { Button } from "../../ui/button";
import { short } from "../../ui/id";
import { Labelled, Panel } from "../../ui/labelled";
import { Needs } from "../../ui/needs";
import { Page } from "../../ui/page";
import { Loaded } from "../../ui/state";
import { Badge, lookOf } from "../../ui/status";
import { bodyOf, efforts, fresh, modes, parameters, wrongOf, type ForkForm, type Instead, type Wrong } from "./forkbody";
import { runQuery, timelineQuery, type Call, type Run, type Timeline } from "./queries";

const versionsQuery = queryOptions({ queryKey: ["versions", "fork"], queryFn: ({ signal }) => ask(api.GET("/v1/registry/versions", { params: { query: { limit: 50 } }, signal })) });

/** promptQuery reads the prompt of an agent as a version has it; null if that is not a document. */
const promptQuery = (agent: string, version: string) =>
  queryOptions({
    queryKey: ["config", "prompt", agent, version],
    queryFn: async ({ signal }): Promise<string | null> => {
      const at = encodeURIComponent(agent);
      const path = version === "live" ? `/v1/config/agents/${at}?state=live` : `/v1/registry/versions/${version}/agents/${at}`;
      try {
        return String(((await call("GET", path, undefined, {}, signal)).data as Doc).system_prompt ?? "");
      } catch (err) {
        if (err instanceof ApiError && err.status < 500 && err.status > 0) return null;
        throw err;
      }
    },
  });

/** ForkPage runs a run again from one of its steps, with changes, on a new thread. */
export function ForkPage() {
  const { t } = useLanguage();
  const { id } = useParams({ strict: false }) as { id: string };
  const search = useSearch({ strict: false }) as { step?: string };
  const run = useQuery(runQuery(id));
  return (
    <Page
      crumbs={[{ text: t("nav.runs"), to: "/runs" }, ...(run.data ? [{ text: short(run.data.thread_id), to: `/threads/${encodeURIComponent(run.data.thread_id)}` }] : []), { text: short(id), to: `/runs/${encodeURIComponent(id)}` }, { text: t("fork.title") }]}
      title={t("fork.titleOf", { id: short(id) })}
    >
      <Needs ability="govern">
        <div className="min-h-0 flex-1 overflow-auto">
          <Loaded query={run}>{(r) => <WithTimeline run={r} step={search.step} />}</Loaded>
        </div>
      </Needs>
    </Page>
  );
}

function WithTimeline({ run, step }: { run: Run; step?: string }) {
  const timeline = useQuery(timelineQuery(run.run_id));
  const events = useEvents(run.run_id, run.status);
  return <Loaded query={timeline}>{(data) => <Form key={run.run_id} run={run} timeline={data} fold={events.fold} step={step} />}</Loaded>;
}

/** stepsOf returns the steps that a fork can take the place of: those with an answer, and one more if calls of the last one have results. */
export function stepsOf(timeline: Timeline): number[] {
  const answered = timeline.steps.filter((s) => s.answered_at).map((s) => s.step);
  const last = Math.max(-1, ...answered);
  const more = timeline.calls.some((c) => c.step === last && c.ended_at);
  return Array.from({ length: Math.max(1, last + 1 + (more ? 1 : 0)) }, (_, n) => n);
}

function Form({ run, timeline, fold, step }: { run: Run; timeline: Timeline; fold: Fold; step?: string }) {
  const { t } = useLanguage();
  const navigate = useNavigate();
  const steps = stepsOf(timeline);
  const first = steps.includes(Number(step ?? 0)) ? Number(step ?? 0) : steps.at(-1)!;
  const [form, setForm] = useState<ForkForm>(() => fresh(first));
  const [wrong, setWrong] = useState<Wrong>({});
  const set = (change: Partial<ForkForm>) => setForm((f) => ({ ...f, ...change }));
  const before = timeline.calls.filter((c) => c.step < form.step && c.ended_at);
  const send = useMutation({
    mutationFn: async () => {
      const known = new Set(before.map((c) => c.call_id));
      const { body, wrong: bad } = bodyOf({ ...form, calls: Object.fromEntries(Object.entries(form.calls).filter(([id]) => known.has(id))) });
      setWrong(Object.fromEntries(Object.entries(bad).map(([field, code]) => [field, t(`fork.bad.${code}` as Key)])));
      if (Object.keys(bad).length > 0) return undefined;
      return ask(api.POST("/v1/runs/{run_id}/fork", { params: { path: { run_id: run.run_id } }, body }));
    },
    onSuccess: (made) => made && void navigate({ to: "/threads/$id", params: { id: made.thread_id } }),
    onError: (err) => setWrong(wrongOf(err.message, problemsOf(err))),
  });
  const works = run.status === "running" || run.status === "created";
  const shown = new Set(["step", "version", "agent", "model", "prompt", "effort", ...parameters, ...before.map((c) => `call:${c.call_id}`), ...form.stubs.map((_, i) => `stub:${i}`)]);
  const rest = Object.entries(wrong).filter(([field]) => !shown.has(field));
  return (
    <form
      className="mx-auto flex max-w-3xl flex-col gap-4 p-4"
      onSubmit={(e) => {
        e.preventDefault();
        if (!works && !send.isPending) send.mutate();
      }}
    >
      <p className="text-muted">{t("fork.hint")}</p>
      <Panel title={t("fork.where")}>
        <Labelled label={t("fork.step")} bad={wrong.step}>
          {(props) => (
            <select {...props} className="field w-full font-normal" value={form.step} onChange={(e) => set({ step: Number(e.target.value) })}>
              {steps.map((n) => {
                const s = timeline.steps.find((x) => x.step === n);
                const calls = timeline.calls.filter((c) => c.step === n).map((c) => c.tool_name);
                return (
                  <option key={n} value={n}>
                    {s ? [t("run.step", { n }), s.model, calls.join(", ")].filter(Boolean).join(" · ") : t("fork.afterAll", { n })}
                  </option>
                );
              })}
            </select>
          )}
        </Labelled>
        <p className="text-dense text-muted">{t("fork.stepHint")}</p>
      </Panel>
      <Changes run={run} form={form} set={set} wrong={wrong} />
      {before.length > 0 && (
        <Panel title={t("fork.before")} hint={t("fork.beforeHint")}>
          <ul className="flex flex-col gap-3">
            {before.map((c) => (
              <Past
                key={c.call_id}
                call={c}
                fold={fold}
                value={form.calls[c.call_id]}
                bad={wrong[`call:${c.call_id}`]}
                set={(v) => {
                  const calls = { ...form.calls };
                  if (v) calls[c.call_id] = v;
                  else delete calls[c.call_id];
                  set({ calls });
                }}
              />
            ))}
          </ul>
        </Panel>
      )}
      <Tools form={form} set={set} wrong={wrong} names={[...new Set(timeline.calls.map((c) => c.tool_name))]} />
      <div className="sticky bottom-0 -mx-4 flex flex-wrap items-center justify-end gap-2 border-t border-line bg-bg px-4 py-3">
        {rest.map(([field, text]) => (
          <p key={field} role="alert" className="min-w-0 flex-1 text-fail [overflow-wrap:anywhere]">
            {text}
          </p>
        ))}
        <Link to="/runs/$id" params={{ id: run.run_id }} className="touch inline-flex min-h-8 items-center rounded-md border border-border bg-panel px-3 font-medium hover:bg-sunken">
          {t("action.cancel")}
        </Link>
        <Button kind="primary" type="submit" why={works ? t("fork.works") : undefined} disabled={send.isPending}>
          <GitFork aria-hidden className="size-3.5" />
          {t("fork.go")}
        </Button>
      </div>
    </form>
  );
}

type Part = { form: ForkForm; set: (change: Partial<ForkForm>) => void; wrong: Wrong };

/** Changes says which agent runs, and what of it is different. */
function Changes({ run, form, set, wrong }: Part & { run: Run }) {
  const { t } = useLanguage();
  const versions = useQuery(versionsQuery);
  const agents = useQuery(agentsQuery);
  const capabilities = useQuery(capabilitiesQuery);
  const models = ((capabilities.data as unknown as { models?: { id: string }[] } | undefined)?.models ?? []).map((m) => m.id);
  const own = run.resolution_id || "live";
  const prompt = useQuery(promptQuery(form.agent || run.agent_id, form.agent ? "live" : form.version || own));
  const loaded = prompt.data ?? undefined;
  const [text, setText] = useState<string>();
  useEffect(() => set({ prompt: text === undefined || text === loaded ? undefined : text }), [text, loaded]); // eslint-disable-line
  const live = versions.data?.live;
  return (
    <Panel title={t("fork.changes")} hint={t("fork.changesHint")}>
      <div className="grid gap-3 sm:grid-cols-2">
        <Labelled label={t("fork.agent")} bad={wrong.agent ?? wrong.version}>
          {(props) => (
            <select
              {...props}
              className="field w-full"
              value={form.agent ? `agent ${form.agent}` : `version ${form.version}`}
              onChange={(e) => {
                const [kind, ...name] = e.target.value.split(" ");
                set(kind === "agent" ? { agent: name.join(" "), version: "" } : { agent: "", version: name.join(" ") });
              }}
            >
              <optgroup label={run.agent_id}>
                <option value="version ">{t("fork.sameVersion", { version: run.resolution_id || "–" })}</option>
                <option value="version live">{t("fork.liveVersion", { n: live ?? "" })}</option>
                {versions.data?.items
                  .filter((v) => v.number !== live && String(v.number) !== run.resolution_id)
                  .map((v) => (
                    <option key={v.number} value={`version ${v.number}`}>
                      {v.note ? `v${v.number} · ${v.note}` : `v${v.number}`}
                    </option>
                  ))}
              </optgroup>
              <optgroup label={t("fork.otherAgent")}>
                {agents.data
                  ?.filter((a) => a.id !== run.agent_id)
                  .map((a) => (
                    <option key={a.id} value={`agent ${a.id}`}>
                      {a.id}
                    </option>
                  ))}
              </optgroup>
            </select>
          )}
        </Labelled>
        <Labelled label={t("fork.model")} bad={wrong.model}>
          {(props) => (
            <select {...props} className="field w-full" value={form.model} onChange={(e) => set({ model: e.target.value })}>
              <option value="">{t("compare.ownModel")}</option>
              {models.map((m) => (
                <option key={m}>{m}</option>
              ))}
            </select>
          )}
        </Labelled>
      </div>
      <Labelled label={t("fork.prompt")} bad={wrong.prompt}>
        {(props) => <textarea {...props} className="field w-full" rows={Math.min(14, Math.max(3, (text ?? loaded ?? "").split("\n").length + 1))} placeholder={t("fork.promptHint")} value={text ?? loaded ?? ""} onChange={(e) => setText(e.target.value)} />}
      </Labelled>
      {form.prompt !== undefined && (
        <p className="text-dense text-muted">
          {t("fork.promptChanged")}{" "}
          <button type="button" className="link underline" onClick={() => setText(undefined)}>
            {t("fork.promptReset")}
          </button>
        </p>
      )}
      <div className="grid grid-cols-2 gap-3 md:grid-cols-4">
        {parameters.map((name) => (
          <Labelled key={name} label={t(`fork.${name}` as Key)} bad={wrong[name]}>
            {(props) => <input {...props} className="field w-full" inputMode="decimal" placeholder={t("fork.asBefore")} value={form.numbers[name] ?? ""} onChange={(e) => set({ numbers: { ...form.numbers, [name]: e.target.value } })} />}
          </Labelled>
        ))}
        <Labelled label={t("fork.effort")} bad={wrong.effort}>
          {(props) => (
            <select {...props} className="field w-full" value={form.effort} onChange={(e) => set({ effort: e.target.value })}>
              <option value="">{t("fork.asBefore")}</option>
              {efforts.map((x) => (
                <option key={x}>{x}</option>
              ))}
            </select>
          )}
        </Labelled>
      </div>
    </Panel>
  );
}

/** Past is a call before the fork: as it was, with another result, or refused. */
function Past({ call: c, fold, value, set, bad }: { call: Call; fold: Fold; value?: Instead; set: (value?: Instead) => void; bad?: string }) {
  const { t } = useLanguage();
  const folded = fold.calls.get(c.call_id);
  const result = folded?.result;
  const was = result ? (result.message || (typeof result.data === "string" ? result.data : JSON.stringify(result.data ?? null, null, 2))) : "";
  const kinds: ("as" | Instead["kind"])[] = ["as", "result", "refused"];
  const kind = value?.kind ?? "as";
  return (
    <li className="flex flex-col gap-2 border-l-2 border-line pl-3">
      <fieldset className="flex flex-wrap items-center gap-x-4 gap-y-1">
        <legend className="mb-1 flex max-w-full items-center gap-2">
          <Badge look={lookOf(c)} iconOnly />
          <span className="mono truncate">{c.tool_name}</span>
          <span className="mono truncate text-muted">{folded?.args === undefined ? "" : JSON.stringify(folded.args).slice(0, 120)}</span>
        </legend>
        {kinds.map((k) => (
          <label key={k} className="touch inline-flex min-h-7 items-center gap-1.5">
            <input type="radio" name={`call-${c.call_id}`} checked={kind === k} onChange={() => set(k === "as" ? undefined : { kind: k, text: k === "result" ? was : "" })} />
            {t(`fork.call.${k}` as Key)}
          </label>
        ))}
      </fieldset>
      {value && (
        <Labelled label={t(value.kind === "result" ? "fork.newResult" : "fork.reason", { tool: c.tool_name })} bad={bad}>
          {(props) => <textarea {...props} className="field mono w-full" rows={Math.min(10, value.text.split("\n").length + 1)} value={value.text} onChange={(e) => set({ ...value, text: e.target.value })} />}
        </Labelled>
      )}
    </li>
  );
}

/** Tools says what becomes of calls in the fork. */
function Tools({ form, set, wrong, names }: Part & { names: string[] }) {
  const { t } = useLanguage();
  const list = useId();
  const change = (i: number, part: Partial<ForkForm["stubs"][number]>) => set({ stubs: form.stubs.map((s, j) => (j === i ? { ...s, ...part } : s)) });
  return (
    <Panel title={t("fork.tools")} hint={t("fork.toolsHint")}>
      <fieldset className="flex flex-col gap-2">
        <legend className="sr-only">{t("fork.tools")}</legend>
        {modes.map((m) => (
          <label key={m} className="flex items-start gap-2">
            <input type="radio" name="tools" className="mt-1" checked={form.tools === m} onChange={() => set({ tools: m })} />
            <span>
              <span className="font-medium">{t(`fork.mode.${m}` as Key)}</span> <span className="text-muted">{t(`fork.modeHint.${m}` as Key)}</span>
            </span>
          </label>
        ))}
      </fieldset>
      <datalist id={list}>
        {names.map((n) => (
          <option key={n} value={n} />
        ))}
      </datalist>
      {form.stubs.map((s, i) => (
        <fieldset key={i} className="flex flex-col gap-2 border-l-2 border-line pl-3">
          <legend className="sr-only">{t("fork.stub", { n: i + 1 })}</legend>
          <div className="flex flex-wrap items-end gap-2">
            <Labelled label={t("fork.stubTool")}>{(props) => <input {...props} list={list} className="field mono w-full" value={s.tool} onChange={(e) => change(i, { tool: e.target.value })} />}</Labelled>
            <Labelled label={t("fork.stubArgs")}>{(props) => <input {...props} className="field mono w-full" placeholder={t("fork.stubArgsHint")} value={s.args} onChange={(e) => change(i, { args: e.target.value })} />}</Labelled>
            <Button kind="quiet" aria-label={t("fork.stubRemove", { n: i + 1 })} onClick={() => set({ stubs: form.stubs.filter((_, j) => j !== i) })}>
              <X aria-hidden className="size-3.5" />
            </Button>
          </div>
          <Labelled label={t("fork.stubResult")} bad={wrong[`stub:${i}`]}>
            {(props) => <textarea {...props} className="field mono w-full" rows={2} value={s.result} onChange={(e) => change(i, { result: e.target.value })} />}
          </Labelled>
        </fieldset>
      ))}
      <Button className="self-start" why={form.tools === "refuse" ? t("fork.stubRefused") : undefined} onClick={() => set({ stubs: [...form.stubs, { tool: "", args: "", result: "" }] })}>
        <Plus aria-hidden className="size-3.5" />
        {t("fork.stubAdd")}
      </Button>
    </Panel>
  );
}
