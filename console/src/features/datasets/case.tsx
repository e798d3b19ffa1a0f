import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { Trash2, X } from "lucide-react";
import { useState } from "react";
import { ApiError, kindOf } from "../../api/errors";
import { datasetQuery, putDataset, type Case, type Dataset, type Expectation } from "../../api/evals";
import { useLanguage, type Key } from "../../i18n/i18n";
import { Button } from "../../ui/button";
import { Code } from "../../ui/code";
import { Confirm } from "../../ui/confirm";
import { useDraft } from "../../ui/draft";
import { short } from "../../ui/id";
import { JsonField, Labelled, LinesField, NumberField, Panel } from "../../ui/labelled";
import { Guard, tell, useTold } from "../../ui/savebar";
import { Empty } from "../../ui/state";
import { Ago } from "../../ui/time";
import { fieldOf, replaced } from "./cases";
import { Scorers } from "./scorers";

/** CaseEditor edits a case of a dataset. An edit that is not saved is kept in the browser, and others' changes of other cases are never lost. */
export function CaseEditor({ dataset: d, id }: { dataset: Dataset; id: string }) {
  const { t } = useLanguage();
  const saved = d.spec.fixtures.find((c) => c.id === id);
  if (id !== "" && !saved) {
    return (
      <div className="min-w-0 flex-1">
        <Empty title={t("state.notThere")}>
          <Link to="/datasets/$id" params={{ id: d.id }} className="link">
            {d.id}
          </Link>
        </Empty>
      </div>
    );
  }
  return <Editor dataset={d} id={id} saved={saved ?? { id: "", user_input: "", expect: {} }} />;
}

function Editor({ dataset: d, id, saved }: { dataset: Dataset; id: string; saved: Case }) {
  const { t, time } = useLanguage();
  const navigate = useNavigate();
  const client = useQueryClient();
  const key = `datasets/${d.id}/${id}`;
  const draft = useDraft(key, saved, true);
  const { value, dirty, restored, discard } = draft;
  const [raw, setRaw] = useState(false);
  const [asking, setAsking] = useState(false);
  const [said, setSaid] = useTold(key);
  const done = (next: Dataset) => {
    client.setQueryData(datasetQuery(d.id).queryKey, next);
    void client.invalidateQueries({ queryKey: ["datasets", "list"] });
  };
  const put = useMutation({
    mutationFn: () => putDataset(d, { ...d.spec, fixtures: replaced(d.spec.fixtures, id, value) }),
    onSuccess: (next) => {
      done(next);
      draft.done(next.spec.fixtures.find((c) => c.id === value.id) ?? value);
      const text = t("case.saved", { id: value.id, n: next.meta.revision });
      if (value.id === id) setSaid(text);
      else {
        tell(`datasets/${d.id}/${value.id}`, text);
        void navigate({ to: "/datasets/$id/cases/$case", params: { id: d.id, case: value.id }, replace: true, ignoreBlocker: true });
      }
    },
    onError: (err) => {
      if (kindOf(err) === "conflict") void client.invalidateQueries({ queryKey: ["datasets", "one", d.id] });
    },
  });
  const remove = useMutation({
    mutationFn: () => putDataset(d, { ...d.spec, fixtures: replaced(d.spec.fixtures, id) }),
    onSuccess: async (next) => {
      draft.discard();
      await navigate({ to: "/datasets/$id", params: { id: d.id }, ignoreBlocker: true });
      done(next);
    },
  });
  const set = (change: Partial<Case>) => draft.become((v) => clean({ ...v, ...change }));
  const n = id ? d.spec.fixtures.findIndex((c) => c.id === id) : d.spec.fixtures.length;
  const error = put.error ?? remove.error;
  const conflict = error instanceof ApiError && kindOf(error) === "conflict";
  const field = error && !conflict ? fieldOf(error.message, n) : "";
  const message = error?.message.replace(/^.*?spec\.fixtures\[\d+\]\./, "") ?? "";
  const wrong = (name: string) => (field === name ? message : undefined);
  const at = new Set(["id", "user_input", "provider_script", "tool_results", "continued_turns", "decide", ...Object.keys(value.expect).map((x) => `expect.${x}`), ...(value.expect.scorers ?? []).map((_, i) => `expect.scorers[${i}]`)]);
  return (
    <form
      aria-label={id || t("case.new")}
      className="flex min-w-0 flex-1 flex-col"
      onSubmit={(e) => {
        e.preventDefault();
        if (dirty && value.id) put.mutate();
      }}
    >
      <Guard dirty={dirty} discard={discard} stays={(path) => decodeURIComponent(path).endsWith(id ? `/cases/${id}` : `/datasets/${d.id}/new`)} />
      <div className="flex flex-wrap items-center gap-2 border-b border-line px-4 py-2">
        {restored > 0 && dirty && <span className="text-dense text-muted">{t("edit.restored", { time: time(restored) })}</span>}
        {said && !dirty && (
          <span role="alert" className="text-ok">
            {said}
          </span>
        )}
        {dirty && <span className="text-wait">{t("edit.unsaved")}</span>}
        <span className="ml-auto flex flex-wrap items-center gap-2">
          <Button kind="quiet" aria-pressed={raw} onClick={() => setRaw(!raw)}>
            {t(raw ? "connect.form" : "agent.raw")}
          </Button>
          {id && (
            <Button kind="quiet" aria-label={t("case.remove")} title={t("case.remove")} onClick={() => setAsking(true)}>
              <Trash2 aria-hidden className="size-3.5" />
            </Button>
          )}
          {dirty && <Button onClick={discard}>{t("case.discard")}</Button>}
          <Button kind="primary" type="submit" why={!dirty ? t("why.unchanged") : !value.id ? t("case.noId") : undefined} disabled={put.isPending}>
            {t("case.save")}
          </Button>
          <Link to="/datasets/$id" params={{ id: d.id }} aria-label={t("action.close")} className="touch inline-flex size-8 items-center justify-center rounded-md text-muted hover:bg-sunken">
            <X aria-hidden className="size-4" />
          </Link>
        </span>
      </div>
      <div className="min-h-0 flex-1 overflow-auto">
        <div className="flex max-w-3xl flex-col gap-4 p-4">
          {conflict && (
            <p role="alert" className="text-wait">
              {t("case.conflict")}
            </p>
          )}
          {!conflict && draft.others.length > 0 && <p className="text-wait">{t("case.others")}</p>}
          {error && !conflict && !at.has(field) && (
            <p role="alert" className="text-fail [overflow-wrap:anywhere]">
              {message}
            </p>
          )}
          {raw ? <RawCase value={value} set={(next) => draft.become(() => next)} /> : <Fields value={value} set={set} wrong={wrong} />}
          {value.source_run_id && (
            <p className="text-muted">
              {t("case.madeOf")}{" "}
              <Link to="/runs/$id" params={{ id: value.source_run_id }} className="link mono">
                {short(value.source_run_id)}
              </Link>{" "}
              {value.source_model_id}
            </p>
          )}
          <p className="text-dense text-muted">
            {t("datasets.revision", { n: d.meta.revision })} · <Ago at={d.meta.updated_at} /> {d.meta.updated_by?.split("/").at(-1)}
          </p>
        </div>
      </div>
      <Confirm open={asking} onOpenChange={setAsking} title={t("case.removeTitle", { id })} action={t("case.remove")} danger onConfirm={() => remove.mutate()}>
        <p>{t("case.removeHint")}</p>
      </Confirm>
    </form>
  );
}

/** clean removes the fields that are not set. */
function clean(c: Case): Case {
  const tidy = <T extends object>(o: T) => Object.fromEntries(Object.entries(o).filter(([, v]) => v !== undefined && v !== "" && !(Array.isArray(v) && v.length === 0))) as T;
  return { ...tidy({ ...c }), id: c.id, user_input: c.user_input, expect: tidy(c.expect) };
}

function RawCase({ value, set }: { value: Case; set: (value: Case) => void }) {
  const { t } = useLanguage();
  const [text, setText] = useState(JSON.stringify(value, null, 2));
  const [bad, setBad] = useState("");
  return (
    <>
      <Code
        label={t("agent.raw")}
        value={text}
        invalid={bad !== ""}
        onChange={(next) => {
          setText(next);
          try {
            const doc = JSON.parse(next) as Case;
            if (doc === null || typeof doc !== "object" || Array.isArray(doc)) throw new Error(t("doc.wantsObject"));
            setBad("");
            set({ ...doc, id: String(doc.id ?? ""), user_input: String(doc.user_input ?? ""), expect: doc.expect ?? {} });
          } catch (err) {
            setBad((err as Error).message);
          }
        }}
      />
      {bad && (
        <p role="alert" className="text-dense text-fail">
          {t("doc.badJson", { error: bad })}
        </p>
      )}
    </>
  );
}

function Fields({ value, set, wrong }: { value: Case; set: (change: Partial<Case>) => void; wrong: (field: string) => string | undefined }) {
  const { t } = useLanguage();
  const e = value.expect;
  const expect = (change: Partial<Expectation>) => set({ expect: { ...e, ...change } });
  return (
    <>
      <Panel title={t("case.asked")}>
        <Labelled label={t("case.id")} bad={wrong("id")}>
          {(props) => <input {...props} className="field w-full" value={value.id} onChange={(x) => set({ id: x.target.value })} />}
        </Labelled>
        <Labelled label={t("datasets.description")}>{(props) => <input {...props} className="field w-full" value={value.description ?? ""} onChange={(x) => set({ description: x.target.value })} />}</Labelled>
        <Labelled label={t("case.input")} bad={wrong("user_input")}>
          {(props) => <textarea {...props} className="field w-full" rows={Math.min(10, value.user_input.split("\n").length + 1)} value={value.user_input} onChange={(x) => set({ user_input: x.target.value })} />}
        </Labelled>
      </Panel>
      <Panel title={t("case.expected")} hint={t("case.expectedHint")}>
        <div className="grid gap-3 md:grid-cols-2">
          <LinesField label={t("case.contains")} hint={t("case.perLine")} value={e.final_answer_contains} onChange={(v) => expect({ final_answer_contains: v })} bad={wrong("expect.final_answer_contains")} />
          <LinesField label={t("case.excludes")} hint={t("case.perLine")} value={e.final_answer_excludes} onChange={(v) => expect({ final_answer_excludes: v })} bad={wrong("expect.final_answer_excludes")} />
          <LinesField label={t("case.sequence")} hint={t("case.sequenceHint")} value={e.tool_sequence} onChange={(v) => expect({ tool_sequence: v })} mono />
          <LinesField label={t("case.forbidden")} hint={t("case.perLine")} value={e.forbidden_tools} onChange={(v) => expect({ forbidden_tools: v })} mono />
        </div>
        {e.tool_sequence && (
          <Labelled label={t("case.sequenceMode")} bad={wrong("expect.tool_sequence_mode")}>
            {(props) => (
              <select {...props} className="field w-full" value={e.tool_sequence_mode ?? "exact"} onChange={(x) => expect({ tool_sequence_mode: x.target.value === "exact" ? undefined : x.target.value })}>
                <option value="exact">{t("case.sequenceExact")}</option>
                <option value="ordered_subseq">{t("case.sequenceAmong")}</option>
              </select>
            )}
          </Labelled>
        )}
        <div className="grid gap-3 sm:grid-cols-3">
          <NumberField label={t("case.maxTokens")} min={0} value={e.max_tokens_total} onChange={(v) => expect({ max_tokens_total: v })} bad={wrong("expect.max_tokens_total")} />
          <NumberField label={t("case.maxDuration")} min={0} value={e.max_duration_ms} onChange={(v) => expect({ max_duration_ms: v })} bad={wrong("expect.max_duration_ms")} />
          <NumberField label={t("case.minJudge")} value={e.min_judge_score} onChange={(v) => expect({ min_judge_score: v })} bad={wrong("expect.min_judge_score")} />
        </div>
        {e.min_judge_score !== undefined && <Labelled label={t("case.rubric")} hint={t("case.rubricHint")}>{(props) => <textarea {...props} className="field w-full" rows={2} value={e.rubric ?? ""} onChange={(x) => expect({ rubric: x.target.value })} />}</Labelled>}
        <JsonField label={t("case.calls")} hint={t("case.callsHint")} value={e.required_tool_calls} onChange={(v) => expect({ required_tool_calls: v as never })} bad={wrong("expect.required_tool_calls")} />
        <h3 className="font-medium">{t("case.scorers")}</h3>
        <Scorers value={e.scorers ?? []} onChange={(scorers) => expect({ scorers })} wrong={(i) => wrong(`expect.scorers[${i}]`)} />
      </Panel>
      <Panel title={t("case.script")} hint={t("case.scriptHint")}>
        {value.provider_script_error && <p className="text-wait [overflow-wrap:anywhere]">{t("case.noScript", { error: value.provider_script_error })}</p>}
        <JsonField label={t("case.replies")} value={value.provider_script} onChange={(v) => set({ provider_script: v as never })} bad={wrong("provider_script")} />
        <JsonField label={t("case.results")} hint={t("case.resultsHint")} value={value.tool_results} onChange={(v) => set({ tool_results: v as never })} bad={wrong("tool_results")} />
        <JsonField label={t("case.turns")} hint={t("case.turnsHint")} value={value.continued_turns} onChange={(v) => set({ continued_turns: v as never })} bad={wrong("continued_turns")} />
        <Labelled label={t("case.decide")} bad={wrong("decide")}>
          {(props) => (
            <select {...props} className="field w-full" value={value.decide ?? ""} onChange={(x) => set({ decide: x.target.value || undefined })}>
              {["", "approve", "deny"].map((v) => (
                <option key={v} value={v}>
                  {t(`case.decide.${v || "none"}` as Key)}
                </option>
              ))}
            </select>
          )}
        </Labelled>
        <label className="touch inline-flex min-h-8 items-center gap-2">
          <input type="checkbox" checked={value.allow_unused_provider_script === true} onChange={(x) => set({ allow_unused_provider_script: x.target.checked || undefined })} />
          {t("case.unused")}
        </label>
      </Panel>
    </>
  );
}
