import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Check, CircleHelp, ShieldAlert, X } from "lucide-react";
import { useEffect, useId, useRef, useState, type ReactNode } from "react";
import { api } from "../../api/client";
import { ApiError } from "../../api/errors";
import { useMay } from "../../api/session";
import { useLanguage, type Key } from "../../i18n/i18n";
import { Button } from "../../ui/button";
import { short } from "../../ui/id";
import { Json } from "../../ui/json";
import { keysEnabled, typing } from "../../ui/keyboard";
import { release } from "../../ui/restored";
import { formable, SchemaForm, schemaOfValue } from "../../ui/schemaform";
import { parsed, useWho } from "../../ui/settle";
import { Ago, useNow } from "../../ui/time";
import { HoldButton } from "./hold";
import { inDoubtOf, keyOf, ticketOf, type Approval } from "./queries";
import { Raise } from "./raise";

interface Remember {
  scopes: string[];
  tools: string[];
}

/** rememberOf returns what a question offers to remember. */
function rememberOf(a: Approval): Remember | undefined {
  const r = (a.suspension?.parameters as { remember?: Partial<Remember> } | undefined)?.remember;
  return r && Array.isArray(r.scopes) && r.scopes.length > 0 ? { scopes: r.scopes, tools: r.tools ?? [] } : undefined;
}

/** Card is one question with what a person needs to answer for it. */
export function Card({ approval: a, gone, next }: { approval: Approval; gone: boolean; next?: Approval }) {
  const { t } = useLanguage();
  const who = useWho();
  const may = useMay("run");
  const client = useQueryClient();
  const decisionId = useRef(crypto.randomUUID?.() ?? `${Date.now()}-${Math.random().toString(36).slice(2)}`); // a double tap counts once
  const result = useRef<HTMLTextAreaElement>(null);
  const answers = a.ticket_id !== "" && a.resume_mode !== "replay_tool_call";
  const inDoubt = inDoubtOf(a);
  const remember = rememberOf(a);
  const responseSchema = a.suspension?.response_schema;
  const asks = answers && formable(responseSchema);
  const argsSchema = !answers && !inDoubt ? schemaOfValue(a.arguments) : undefined;
  const [args, setArgs] = useState(a.arguments as Record<string, unknown>);
  const [answer, setAnswer] = useState<Record<string, unknown>>({});
  const [text, setText] = useState("");
  const [reason, setReason] = useState("");
  const [scope, setScope] = useState("");
  const [pattern, setPattern] = useState(remember?.tools[0] ?? "");
  const edited = JSON.stringify(args) !== JSON.stringify(a.arguments);

  const decide = useMutation({
    mutationFn: async ({ action, payload, outcome }: { action: "resume" | "cancel"; payload?: unknown; outcome?: "made" | "not_made" }) => {
      const body = {
        action,
        ...(outcome ? { outcome } : {}),
        decision_id: decisionId.current,
        ...(reason ? { reason } : {}),
        ...(action === "resume" && edited ? { arguments: args } : {}),
        ...(payload !== undefined ? { payload } : {}),
      };
      await api.POST("/v1/approvals/{run_id}/{ticket_id}", { params: { path: { run_id: a.run_id, ticket_id: a.ticket_id } }, body });
      if (!inDoubt) return action === "resume" ? "approvals.approvedDone" : "approvals.refusedDone";
      if (outcome) return outcome === "made" ? "approvals.settledDone" : "approvals.notMadeDone";
      return action === "cancel" ? "approvals.givenUpDone" : "approvals.againDone";
    },
    onSettled: () => Promise.all([client.invalidateQueries({ queryKey: ["approvals"] }), client.invalidateQueries({ queryKey: ["run", a.run_id] })]),
  });
  const restored = a.waiting_reason === "restored";
  const admin = useMay("admin");
  const proceed = useMutation({
    mutationFn: async () => {
      if (restored) await release([a.run_id]);
      else await api.POST("/v1/runs/{run_id}/continue", { params: { path: { run_id: a.run_id } } });
    },
    onSettled: () => client.invalidateQueries({ queryKey: ["approvals"] }),
  });
  const payloadOf = () => {
    if (scope) return { remember: { scope, ...(pattern ? { tool: pattern } : {}) } };
    if (asks) return answer;
    if (answers) return parsed(text);
    return undefined;
  };
  const approve = () => decide.mutate({ action: "resume", payload: payloadOf() });
  const refuse = () => decide.mutate({ action: "cancel" });
  const busy = decide.isPending || decide.isSuccess || gone;
  const why = may ? undefined : t("may.run");
  useTwice(!busy && may && a.ticket_id !== "", { a: approve, r: refuse });

  const faster = decide.error instanceof ApiError ? decide.error.body.decision : undefined;
  return (
    <article aria-labelledby="question" className="mx-auto flex max-w-2xl flex-col gap-4 p-4 pb-8">
      <header className="flex flex-col gap-1">
        <h2 id="question" className="text-page font-semibold [overflow-wrap:anywhere]">
          {a.suspension?.message || a.reason || t(`reason.${a.waiting_reason}` as Key)}
        </h2>
        <p className="flex flex-wrap gap-x-3 gap-y-1 text-muted">
          {a.tool_name && <span className="mono">{a.tool_name}</span>}
          <span>{a.agent_id}</span>
          {a.user_id && <span>{t("approvals.forUser", { user: a.user_id })}</span>}
          <span>
            {t("approvals.asked")} <Ago at={a.requested_at} />
          </span>
          <Link to="/runs/$id" params={{ id: a.run_id }} className="link">
            {t("approvals.toRun")} <span className="mono">{short(a.run_id)}</span>
          </Link>
        </p>
        {inDoubt ? (
          <p className="flex items-start gap-1.5 text-doubt">
            <CircleHelp aria-hidden className="mt-0.5 size-4 shrink-0" />
            <span>
              {t("approvals.inDoubt")} <span className="text-muted">{t("approvals.inDoubtHint")}</span>
            </span>
          </p>
        ) : (
          a.effect === "effectful" && (
            <p className="flex items-start gap-1.5 text-wait">
              <ShieldAlert aria-hidden className="mt-0.5 size-4 shrink-0" />
              {t("approvals.effectful")}
            </p>
          )
        )}
        {a.expires_at ? <Expiry at={a.expires_at} /> : null}
      </header>

      {argsSchema && Object.keys(argsSchema.properties ?? {}).length > 0 ? (
        <Section title={t("approvals.arguments")} hint={edited ? t("approvals.edited") : t("approvals.editHint")}>
          <SchemaForm schema={argsSchema} value={args} onChange={setArgs} disabled={busy || !may} />
        </Section>
      ) : (
        a.tool_name && (
          <Section title={t("approvals.arguments")}>
            <Json value={a.arguments} label={t("approvals.arguments")} />
          </Section>
        )
      )}
      {asks && (
        <Section title={t("approvals.answer")}>
          <SchemaForm schema={responseSchema} value={answer} onChange={setAnswer} disabled={busy || !may} />
        </Section>
      )}
      {answers && !asks && (
        <Section title={t("approvals.answer")}>
          <textarea className="field w-full" rows={3} aria-label={t("approvals.answer")} value={text} onChange={(e) => setText(e.target.value)} disabled={busy || !may} />
        </Section>
      )}
      {a.budget && (
        <Section title={t("run.budget")}>
          <Budget exhausted={a.budget} />
          <Raise approval={a} />
        </Section>
      )}
      {a.context.length > 0 && (
        <Section title={t("approvals.context")}>
          <ul className="flex flex-col gap-1">
            {a.context.map((m) => (
              <li key={m.message_id} className="[overflow-wrap:anywhere]">
                <span className="text-muted">{t(`role.${m.role}` as Key)}</span> {m.text}
              </li>
            ))}
          </ul>
        </Section>
      )}
      {(a.rule || a.version) && (
        <p className="text-muted">
          {a.rule && t("approvals.rule", { rule: a.rule })} {a.version && t("approvals.version", { version: a.version })}
        </p>
      )}

      {a.ticket_id ? (
        <>
          {remember && (
            <fieldset className="flex flex-col gap-2" disabled={busy || !may}>
              <legend className="mb-1 font-medium">{t("approvals.remember")}</legend>
              <div className="flex flex-wrap gap-x-4 gap-y-1">
                {["", ...remember.scopes].map((s) => (
                  <label key={s} className="touch inline-flex min-h-6 items-center gap-1.5">
                    <input type="radio" name="scope" checked={scope === s} onChange={() => setScope(s)} />
                    {t(`remember.${s || "no"}` as Key)}
                  </label>
                ))}
              </div>
              {scope && remember.tools.length > 0 && (
                <select className="field mono" aria-label={t("approvals.pattern")} value={pattern} onChange={(e) => setPattern(e.target.value)}>
                  {remember.tools.map((p) => (
                    <option key={p}>{p}</option>
                  ))}
                </select>
              )}
            </fieldset>
          )}
          {inDoubt && (
            <Section title={t("approvals.happened")} hint={t("approvals.happenedHint")}>
              <textarea ref={result} className="field mono w-full scroll-mb-40" rows={3} aria-label={t("approvals.happened")} value={text} onChange={(e) => setText(e.target.value)} disabled={busy || !may} />
              <Button className="mt-2" why={why ?? (text.trim() === "" ? t("why.noResult") : undefined)} disabled={busy} onClick={() => decide.mutate({ action: "resume", outcome: "made", payload: parsed(text) })}>
                {t("approvals.happenedSend")}
              </Button>
            </Section>
          )}
          <label className="flex flex-col gap-1 font-medium">
            {t("approvals.note")}
            <input className="field w-full font-normal" value={reason} onChange={(e) => setReason(e.target.value)} disabled={busy || !may} />
          </label>
          <div className="sticky bottom-0 flex flex-wrap items-center gap-3 border-t border-line bg-bg py-3">
            <Button kind="danger" why={why} disabled={busy} onClick={refuse} className="max-md:flex-1">
              <X aria-hidden className="size-4" />
              {t(inDoubt ? "approvals.giveUp" : "approvals.refuse")}
            </Button>
            {inDoubt && (
              <>
                <Button why={why} disabled={busy} onClick={() => decide.mutate({ action: "cancel", outcome: "not_made" })} className="max-md:order-first max-md:w-full md:ml-auto">
                  {t("approvals.notHappened")}
                </Button>
                <Button why={why} disabled={busy} onClick={() => result.current?.focus()} className="max-md:order-first max-md:w-full">
                  <CircleHelp aria-hidden className="size-4" />
                  {t("approvals.itHappened")}
                </Button>
              </>
            )}
            <HoldButton kind={inDoubt ? "plain" : "primary"} hold={a.effect === "effectful"} why={why} disabled={busy} onConfirm={approve} className={`${inDoubt ? "" : "ml-auto"} max-md:flex-1`}>
              <Check aria-hidden className="size-4" />
              {t(inDoubt ? "approvals.again" : answers ? "approvals.send" : edited ? "approvals.approveEdited" : "approvals.approve")}
            </HoldButton>
          </div>
        </>
      ) : (
        <div className="flex justify-end border-t border-line pt-3">
          <Button kind="primary" why={restored && !admin ? t("may.release") : why} disabled={proceed.isPending} onClick={() => proceed.mutate()}>
            {t(restored ? "run.release" : "run.continue")}
          </Button>
        </div>
      )}
      <div role="status" className="[overflow-wrap:anywhere]">
        {decide.isSuccess && <p className="text-ok">{t(decide.data)}</p>}
        {faster && <p className="text-wait">{t("approvals.faster", { who: who(faster.actor), action: t(faster.outcome === "made" ? "settle.wasMade" : faster.outcome === "not_made" ? "settle.wasNotMade" : faster.action === "resume" ? "call.approved" : "call.refused") })}</p>}
        {!decide.isSuccess && !decide.error && gone && <p className="text-muted">{t("approvals.gone")}</p>}
        {(decide.isSuccess || gone) && next && (
          <Link to="/approvals/$run/$ticket" params={{ run: next.run_id, ticket: ticketOf(next) }} className="link" key={keyOf(next)}>
            {t("approvals.next")}
          </Link>
        )}
      </div>
      {(decide.error ?? proceed.error) && !faster && (
        <p role="alert" className="text-fail [overflow-wrap:anywhere]">
          {(decide.error ?? proceed.error)?.message}
        </p>
      )}
    </article>
  );
}

function Section({ title, hint, children }: { title: string; hint?: string; children: ReactNode }) {
  const id = useId();
  return (
    <section aria-labelledby={id} className="panel p-3">
      <h3 id={id} className="mb-2 flex flex-wrap gap-x-2 text-dense font-semibold text-muted">
        {title}
        {hint && <span className="font-normal">{hint}</span>}
      </h3>
      {children}
    </section>
  );
}

function Expiry({ at }: { at: number }) {
  const { t, date, span } = useLanguage();
  const now = useNow(1000);
  return (
    <p className="text-wait" title={date(at)}>
      {at > now ? t("approvals.expiresIn", { time: span(at - now) }) : t("approvals.expires", { time: date(at) })}
    </p>
  );
}

function Budget({ exhausted: e }: { exhausted: NonNullable<Approval["budget"]> }) {
  const { t, money } = useLanguage();
  return <p>{t("approvals.budget", { needed: money(e.needed_usd), left: money(Math.max(0, e.limit_usd - e.spent_usd)), limit: money(e.limit_usd), scope: t(`scope.${e.scope}` as Key) })}</p>;
}

/** useTwice does something when its key is pressed twice in a second, so that no slip decides. */
function useTwice(on: boolean, actions: Record<string, () => void>) {
  const latest = useRef(actions);
  latest.current = actions;
  useEffect(() => {
    if (!on) return;
    let before = { key: "", at: 0 };
    const press = (e: KeyboardEvent) => {
      if (e.metaKey || e.ctrlKey || e.altKey || e.repeat || typing(e) || !keysEnabled() || document.querySelector("[role=dialog]")) return;
      const action = latest.current[e.key];
      if (action && before.key === e.key && Date.now() - before.at < 1000) action();
      before = { key: e.key, at: Date.now() };
    };
    document.addEventListener("keydown", press);
    return () => document.removeEventListener("keydown", press);
  }, [on]);
}
