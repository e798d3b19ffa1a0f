import { useMutation } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Check, Send, X } from "lucide-react";
import { useState } from "react";
import { api, ask } from "../../api/client";
import type { components } from "../../api/schema";
import { useLanguage } from "../../i18n/i18n";
import { Button } from "../../ui/button";
import { Labelled, LinesField, Panel } from "../../ui/labelled";
import { Markdown } from "../../ui/markdown";
import { AdminPage } from "../../ui/needs";
import { explain } from "./failures";
import { nameOf } from "./matrix";
import { fieldOf, Variants, type Tried } from "./start";

type Reply = components["schemas"]["OnlineReply"];

/** Online asks several models the same, without a dataset. */
export function Online() {
  const { t } = useLanguage();
  return (
    <AdminPage crumbs={[{ text: t("nav.evals"), to: "/evals" }, { text: t("evals.online") }]} feature="evals" setting="admin.expose_eval_routes">
      <Form />
    </AdminPage>
  );
}

function Form() {
  const { t } = useLanguage();
  const [input, setInput] = useState("");
  const [contains, setContains] = useState<string[]>();
  const [tried, setTried] = useState<Tried>({});
  const [persist, setPersist] = useState(true);
  const go = useMutation({
    mutationFn: () => ask(api.POST("/v1/eval/online", { body: { user_input: input, persist, ...(contains && { expectations: { final_answer_contains: contains } }), ...tried } })),
  });
  const at = go.error ? fieldOf(go.error.message) : "";
  const wrong = (field: string) => (go.error && at === field ? go.error.message : undefined);
  const why = !input.trim() ? t("why.noMessage") : (tried.models?.length ?? 0) === 0 ? t("evals.noModels") : undefined;
  return (
    <div className="min-h-0 flex-1 overflow-auto">
      <form
        className="mx-auto flex max-w-3xl flex-col gap-4 p-4"
        onSubmit={(e) => {
          e.preventDefault();
          if (!why && !go.isPending) go.mutate();
        }}
      >
        <Panel title={t("case.asked")}>
          <Labelled label={t("case.input")} bad={wrong("user_input")}>
            {(props) => <textarea {...props} className="field w-full" rows={3} value={input} onChange={(e) => setInput(e.target.value)} />}
          </Labelled>
          <LinesField label={t("case.contains")} hint={t("case.perLine")} value={contains} onChange={setContains} />
        </Panel>
        <Variants value={tried} set={setTried} wrong={wrong} />
        <div className="sticky bottom-0 -mx-4 flex flex-wrap items-center justify-end gap-3 border-t border-line bg-bg px-4 py-3">
          <label className="touch mr-auto inline-flex min-h-8 items-center gap-2">
            <input type="checkbox" checked={persist} onChange={(e) => setPersist(e.target.checked)} />
            {t("evals.keep")}
          </label>
          {go.error && !at && (
            <p role="alert" className="w-full text-fail [overflow-wrap:anywhere]">
              {go.error.message}
            </p>
          )}
          <Button kind="primary" type="submit" why={why} disabled={go.isPending}>
            <Send aria-hidden className="size-3.5" />
            {go.isPending ? t("evals.asking") : t("evals.ask", { n: (tried.models?.length ?? 0) * (tried.samples ?? 1) })}
          </Button>
        </div>
        {go.data && <Answers reply={go.data} />}
      </form>
    </div>
  );
}

function Answers({ reply }: { reply: Reply }) {
  const language = useLanguage();
  const { t, money, span } = language;
  const items = reply.run?.items ?? [];
  return (
    <section aria-label={t("evals.answers")} className="flex flex-col gap-3">
      <div className="grid gap-3 md:grid-cols-2">
        {items.map((it, i) => {
          const r = it.report;
          if (!r) return null;
          return (
            <article key={i} className="panel flex flex-col gap-2 p-4">
              <header className="flex items-center gap-2">
                <h2 className="truncate font-semibold">{nameOf(it.cell)}</h2>
                <span className={r.passed ? "text-ok" : "text-fail"}>
                  {r.passed ? <Check aria-hidden className="size-3.5" /> : <X aria-hidden className="size-3.5" />}
                  <span className="sr-only">{t(r.passed ? "evals.passed" : "evals.failed")}</span>
                </span>
              </header>
              {r.final_text && <Markdown text={r.final_text} />}
              {r.failures.map((f, j) => (
                <p key={j} className="text-fail [overflow-wrap:anywhere]">
                  {explain(language, f)}
                </p>
              ))}
              {r.judge_score !== undefined && <p className="text-muted">{t("evals.judged", { score: r.judge_score.toFixed(2), why: r.judge_reasoning ?? "" })}</p>}
              <p className="mt-auto flex flex-wrap gap-x-3 text-dense text-muted">
                <span>{t("run.tokens", { n: r.total_tokens })}</span>
                {r.cost_usd !== undefined && <span>{money(r.cost_usd)}</span>}
                <span>{span(r.session_duration_ms)}</span>
              </p>
            </article>
          );
        })}
      </div>
      {reply.persisted && reply.run && (
        <Link to="/evals/$id" params={{ id: reply.run.id }} className="link">
          {t("evals.openResult")}
        </Link>
      )}
    </section>
  );
}
