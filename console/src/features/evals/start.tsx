import { queryOptions, useMutation, useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { Play } from "lucide-react";
import { useEffect, useId, useState } from "react";
import { agentsQuery } from "../../api/agents";
import { api, ask } from "../../api/client";
import { call, capabilitiesQuery, draftsQuery } from "../../api/config";
import { datasetQuery, datasetsQuery, evalRunsQuery, type EvalReply } from "../../api/evals";
import type { components } from "../../api/schema";
import { useGoverns, useMay } from "../../api/session";
import { useLanguage, type Key } from "../../i18n/i18n";
import { Button } from "../../ui/button";
import { short } from "../../ui/id";
import { JsonField, Labelled, LinesField, NumberField, Panel } from "../../ui/labelled";
import { AdminPage } from "../../ui/needs";
import { Empty, Loaded } from "../../ui/state";

type Body = components["schemas"]["EvalRunBody"];
export type Tried = Pick<Body, "models" | "agent_id" | "agent_overrides" | "version" | "samples" | "judge" | "max_walltime_secs" | "max_total_tokens" | "max_cost_usd">;

const versionsQuery = queryOptions({ queryKey: ["versions", "evaluate"], queryFn: ({ signal }) => ask(api.GET("/v1/registry/versions", { params: { query: { limit: 50 } }, signal })) });

/** fieldOf returns which field of a request an error of the server is about. */
export function fieldOf(message: string): string {
  if (/min_judge_score/.test(message)) return "judge.model_id";
  return /^(?:invalid request: )?(judge\.\w+|dataset_id|user_input|baseline|models|samples|version|agent_overrides|max_walltime_secs|max_total_tokens|max_cost_usd|agent|model|dataset)\b/.exec(message)?.[1]?.replace(/^agent$/, "agent_id").replace(/^model$/, "models").replace(/^dataset$/, "dataset_id") ?? "";
}

/** StartEval asks what to evaluate, says how many cells that is, and starts it. */
export function StartEval() {
  const { t } = useLanguage();
  return (
    <AdminPage crumbs={[{ text: t("nav.evals"), to: "/evals" }, { text: t("evals.new") }]} feature="evals" setting="admin.expose_eval_routes">
      <div className="min-h-0 flex-1 overflow-auto">
        <Form />
      </div>
    </AdminPage>
  );
}

function Form() {
  const { t } = useLanguage();
  const datasets = useQuery(datasetsQuery);
  return (
    <Loaded query={datasets}>
      {(list) =>
        list.length === 0 ? (
          <Empty title={t("datasets.empty")}>
            <p>{t("datasets.emptyHint")}</p>
            <Link to="/datasets" className="link">
              {t("nav.datasets")}
            </Link>
          </Empty>
        ) : (
          <Filled ids={list.map((d) => d.id)} />
        )
      }
    </Loaded>
  );
}

function Filled({ ids }: { ids: string[] }) {
  const { t } = useLanguage();
  const navigate = useNavigate();
  const search = useSearch({ strict: false }) as { dataset?: string; baseline?: string; agent?: string; version?: string };
  const id = search.dataset && ids.includes(search.dataset) ? search.dataset : ids[0]!;
  const dataset = useQuery(datasetQuery(id));
  const runs = useQuery(evalRunsQuery(id));
  const governs = useGoverns();
  const [live, setLive] = useState<boolean>();
  const [tried, setTried] = useState<Tried>({ agent_id: search.agent, version: search.version });
  const cases = dataset.data?.spec.fixtures ?? [];
  const scripts = cases.length > 0 && cases.every((c) => (c.provider_script?.length ?? 0) > 0 || c.mock_response);
  const asks = live ?? (search.agent !== undefined || !scripts);
  const mode = asks ? "live" : "scripted";
  const baselines = (runs.data ?? []).filter((r) => r.status === "done" && r.dataset_revision === dataset.data?.meta.revision && r.execution_mode === mode);
  const baseline = search.baseline ?? "";
  const cells = cases.length * (asks ? Math.max(1, tried.models?.length ?? 0) * (tried.samples ?? 1) : 1);
  const group = useId();
  const go = useMutation({
    mutationFn: async () => (await call("POST", "/v1/eval/runs", { dataset_id: id, mode, ...(baseline && { baseline_run_id: baseline }), ...(asks ? tried : {}) } satisfies Body, { Prefer: "respond-async" })).data as EvalReply,
    onSuccess: (made) => void navigate({ to: "/evals/$id", params: { id: made.run!.id }, search: { baseline: baseline || undefined } }),
  });
  const at = go.error ? fieldOf(go.error.message) : "";
  const wrong = (field: string) => (go.error && at === field ? go.error.message : undefined);
  const why = cases.length === 0 ? t("datasets.noCases") : asks && !tried.agent_id && (tried.models?.length ?? 0) === 0 ? t("evals.noModels") : undefined;
  const known = ["dataset_id", "baseline", ...(asks ? ["models", "agent_id", "agent_overrides", "version", "samples", "judge.model_id", "judge.votes", "judge.revise_max_retries", "max_walltime_secs", "max_total_tokens", "max_cost_usd"] : [])];
  return (
    <form
      className="mx-auto flex max-w-3xl flex-col gap-4 p-4"
      onSubmit={(e) => {
        e.preventDefault();
        if (!why && !go.isPending) go.mutate();
      }}
    >
      <Panel title={t("evals.what")}>
        <Labelled label={t("evals.dataset")} bad={wrong("dataset_id")}>
          {(props) => (
            <select {...props} className="field w-full" value={id} onChange={(e) => void navigate({ to: "/evals/new", search: { ...search, dataset: e.target.value, baseline: undefined }, replace: true })}>
              {ids.map((x) => (
                <option key={x}>{x}</option>
              ))}
            </select>
          )}
        </Labelled>
        {dataset.data && (
          <p className="text-muted">
            {t("datasets.cases", { n: cases.length })} · {t("datasets.revision", { n: dataset.data.meta.revision })}{" "}
            <Link to="/datasets/$id" params={{ id }} className="link underline">
              {t("evals.openDataset")}
            </Link>
          </p>
        )}
        <fieldset className="flex flex-col gap-2">
          <legend className="mb-1 font-medium">{t("evals.who")}</legend>
          {([false, true] as const).map((x) => (
            <label key={String(x)} className="flex items-start gap-2">
              <input type="radio" name={group} className="mt-1" checked={asks === x} onChange={() => setLive(x)} />
              <span>
                <span className="font-medium">{t(`evals.mode.${x ? "live" : "scripted"}`)}</span> <span className="text-muted">{t(`evals.modeHint.${x ? "live" : "scripted"}`)}</span>
              </span>
            </label>
          ))}
        </fieldset>
        {!asks && !scripts && cases.length > 0 && <p className="text-wait">{t("evals.noScripts")}</p>}
      </Panel>
      {asks && <Variants value={tried} set={setTried} wrong={wrong} versions={governs} />}
      <Panel title={t("evals.compare")}>
        <Labelled label={t("evals.baseline")} bad={wrong("baseline")} hint={t("evals.baselineHint")}>
          {(props) => (
            <select {...props} className="field w-full" value={baseline} onChange={(e) => void navigate({ to: "/evals/new", search: { ...search, baseline: e.target.value || undefined }, replace: true })}>
              <option value="">{t("evals.noBaseline")}</option>
              {baseline && !baselines.some((r) => r.id === baseline) && <option value={baseline}>{short(baseline)}</option>}
              {baselines.map((r) => (
                <option key={r.id} value={r.id}>
                  {short(r.id)} · {t("evals.passedOf", { n: r.passed_count, of: r.cell_count })}
                </option>
              ))}
            </select>
          )}
        </Labelled>
      </Panel>
      <div className="sticky bottom-0 -mx-4 flex flex-wrap items-center justify-end gap-3 border-t border-line bg-bg px-4 py-3">
        <p className="mr-auto" aria-live="polite">
          {asks ? t("evals.cellsLive", { cases: cases.length, models: Math.max(tried.agent_id ? 1 : 0, tried.models?.length ?? 0), samples: tried.samples ?? 1, n: cells }) : t("evals.cells", { n: cells })}
        </p>
        {go.error && !known.includes(at) && (
          <p role="alert" className="w-full text-fail [overflow-wrap:anywhere]">
            {go.error.message}
          </p>
        )}
        <Button kind="primary" type="submit" why={why} disabled={go.isPending}>
          <Play aria-hidden className="size-3.5" />
          {t("evals.go")}
        </Button>
      </div>
    </form>
  );
}

/** Models chooses the models to ask. Callers that may not list them name them. */
function Models({ value, set, bad, named }: { value: string[]; set: (models: string[]) => void; bad?: string; named: boolean }) {
  const { t } = useLanguage();
  const config = useMay("config");
  const capabilities = useQuery({ ...capabilitiesQuery, enabled: config });
  const caps = capabilities.data as unknown as { models?: { id: string }[]; model_pools?: { id: string }[] } | undefined;
  const only = caps?.models?.length === 1 && !caps.model_pools?.length ? caps.models[0]!.id : undefined;
  useEffect(() => {
    if (only && !named && value.length === 0) set([only]); // there is no choice
  }, [only]); // eslint-disable-line
  if (!config) return <LinesField label={t("evals.models")} hint={t("case.perLine")} value={value} onChange={(v) => set(v ?? [])} bad={bad} mono />;
  const ids = [...new Set([...(caps?.models ?? []), ...(caps?.model_pools ?? [])].map((m) => m.id))];
  return (
    <fieldset>
      <legend className="mb-1 font-medium">{t("evals.models")}</legend>
      <div className="flex max-h-48 flex-wrap gap-x-4 gap-y-1 overflow-auto">
        {ids.map((m) => (
          <label key={m} className="touch inline-flex min-h-7 items-center gap-1.5">
            <input type="checkbox" checked={value.includes(m)} onChange={(e) => set(e.target.checked ? [...value, m] : value.filter((x) => x !== m))} />
            <span className="mono">{m}</span>
          </label>
        ))}
      </div>
      {bad && (
        <p role="alert" className="text-dense text-fail [overflow-wrap:anywhere]">
          {bad}
        </p>
      )}
    </fieldset>
  );
}

/** Variants says which models are asked, through which agent, how often, who judges, and within which limits. */
export function Variants({ value, set, wrong, versions }: { value: Tried; set: (value: Tried) => void; wrong: (field: string) => string | undefined; /** Whether another version than the live one can be tried. */ versions?: boolean }) {
  const { t } = useLanguage();
  const config = useMay("config");
  const agents = useQuery(agentsQuery);
  const capabilities = useQuery({ ...capabilitiesQuery, enabled: config });
  const models = ((capabilities.data as unknown as { models?: { id: string }[] } | undefined)?.models ?? []).map((m) => m.id);
  const put = (change: Partial<Tried>) => set(Object.fromEntries(Object.entries({ ...value, ...change }).filter(([, v]) => v !== undefined && v !== "")) as Tried);
  const governs = useGoverns();
  const drafts = useQuery({ ...draftsQuery, enabled: governs && versions === true });
  const published = useQuery({ ...versionsQuery, enabled: governs && versions === true });
  const judge = value.judge;
  const judged = (change: Partial<NonNullable<Tried["judge"]>>) => put({ judge: Object.fromEntries(Object.entries({ ...judge, ...change }).filter(([, v]) => v !== undefined && v !== "")) as never });
  return (
    <>
      <Panel title={t("evals.variants")} hint={t("evals.variantsHint")}>
        <Models named={value.agent_id !== undefined} value={value.models ?? []} set={(m) => put({ models: m.length > 0 ? m : undefined })} bad={wrong("models")} />
        {value.agent_id && <p className="text-dense text-muted">{t("evals.ownModel")}</p>}
        <div className="grid gap-3 sm:grid-cols-2">
          <Labelled label={t("evals.agent")} bad={wrong("agent_id")}>
            {(props) => (
              <select {...props} className="field w-full" value={value.agent_id ?? ""} onChange={(e) => put({ agent_id: e.target.value || undefined })}>
                <option value="">{t("evals.noAgent")}</option>
                {value.agent_id && !agents.data?.some((a) => a.id === value.agent_id) && <option>{value.agent_id}</option>}
                {agents.data?.map((a) => <option key={a.id}>{a.id}</option>)}
              </select>
            )}
          </Labelled>
          <NumberField label={t("evals.samples")} min={1} step="1" value={value.samples} onChange={(v) => put({ samples: v })} bad={wrong("samples")} hint={t("evals.samplesHint")} />
        </div>
        {value.agent_id && versions && (
          <Labelled label={t("evals.version")} bad={wrong("version")}>
            {(props) => (
              <select {...props} className="field w-full" value={value.version ?? ""} onChange={(e) => put({ version: e.target.value || undefined })}>
                <option value="">{t("evals.versionLive")}</option>
                {(drafts.data?.items.length ?? 0) > 0 || value.version === "draft" ? <option value="draft">{t("evals.versionDraft")}</option> : null}
                {value.version && value.version !== "draft" && value.version !== "live" && !published.data?.items.some((v) => String(v.number) === value.version) && <option value={value.version}>v{value.version}</option>}
                {published.data?.items.map((v) => (
                  <option key={v.number} value={String(v.number)}>
                    {v.note ? `v${v.number} · ${v.note}` : `v${v.number}`}
                  </option>
                ))}
              </select>
            )}
          </Labelled>
        )}
        {value.agent_id && <JsonField label={t("evals.overrides")} hint={t("evals.overridesHint")} value={value.agent_overrides} onChange={(v) => put({ agent_overrides: v })} bad={wrong("agent_overrides")} />}
      </Panel>
      <Panel title={t("evals.judge")} hint={t("evals.judgeHint")}>
        <div className="grid gap-3 sm:grid-cols-3">
          <Labelled label={t("evals.judgeModel")} bad={wrong("judge.model_id")}>
            {(props) =>
              config ? (
                <select {...props} className="field w-full" value={judge?.model_id ?? ""} onChange={(e) => (e.target.value ? judged({ model_id: e.target.value }) : put({ judge: undefined }))}>
                  <option value="">{t("evals.noJudge")}</option>
                  {models.map((m) => (
                    <option key={m}>{m}</option>
                  ))}
                </select>
              ) : (
                <input {...props} className="field mono w-full" value={judge?.model_id ?? ""} onChange={(e) => (e.target.value ? judged({ model_id: e.target.value }) : put({ judge: undefined }))} />
              )
            }
          </Labelled>
          {judge && <NumberField label={t("evals.votes")} min={1} step="1" value={judge.votes} onChange={(v) => judged({ votes: v })} bad={wrong("judge.votes")} />}
          {judge && <NumberField label={t("evals.revisions")} min={0} step="1" value={judge.revise_max_retries} onChange={(v) => judged({ revise_max_retries: v })} bad={wrong("judge.revise_max_retries")} />}
        </div>
        {judge && <Labelled label={t("case.rubric")} hint={t("case.rubricHint")}>{(props) => <textarea {...props} className="field w-full" rows={3} value={judge.rubric ?? ""} onChange={(e) => judged({ rubric: e.target.value })} />}</Labelled>}
      </Panel>
      <Panel title={t("evals.limits")}>
        <div className="grid gap-3 sm:grid-cols-3">
          {(["max_walltime_secs", "max_total_tokens", "max_cost_usd"] as const).map((name) => (
            <NumberField key={name} label={t(`evals.${name}` as Key)} min={0} value={value[name]} onChange={(v) => put({ [name]: v })} bad={wrong(name)} hint={name === "max_total_tokens" ? t("evals.tokensHint") : undefined} />
          ))}
        </div>
      </Panel>
    </>
  );
}
