import { Link, useNavigate } from "@tanstack/react-router";
import { GitFork } from "lucide-react";
import { useGoverns } from "../../api/session";
import { useLanguage, type Key } from "../../i18n/i18n";
import type { Fold } from "../../live/fold";
import { Aside, Facts, Part } from "../../ui/aside";
import { Button } from "../../ui/button";
import { Drawn } from "../../ui/drawn";
import { CopyButton, short } from "../../ui/id";
import { Json } from "../../ui/json";
import { Settlement, useWho } from "../../ui/settle";
import { Badge, lookOf } from "../../ui/status";
import type { Call, Run, Step, Timeline } from "./queries";
import { Seen } from "./seen";

/** Detail shows a step or a call of a run. */
export function Detail({ run, timeline, fold, step, call }: { run: Run; timeline: Timeline; fold: Fold; step?: string; call?: string }) {
  const { t } = useLanguage();
  const navigate = useNavigate();
  const s = step !== undefined ? timeline.steps.find((x) => String(x.step) === step) : undefined;
  const c = call !== undefined ? timeline.calls.find((x) => x.call_id === call) : undefined;
  return (
    <Aside
      label={t("run.detail")}
      title={s ? t("run.step", { n: s.step }) : c ? c.tool_name : t("state.notThere")}
      badge={c && <Badge look={lookOf(c)} />}
      close={() => void navigate({ to: "/runs/$id", params: { id: run.run_id }, replace: true })}
      width="max-lg:max-h-[55%] max-lg:border-t max-lg:border-l-0 lg:w-[26rem]"
    >
      <div className="flex flex-col gap-4 p-4">
        {s && <StepDetail run={run} step={s} timeline={timeline} fold={fold} />}
        {c && <CallDetail call={c} fold={fold} run={run} />}
      </div>
    </Aside>
  );
}

function StepDetail({ run, step, timeline, fold }: { run: Run; step: Step; timeline: Timeline; fold: Fold }) {
  const { t, span, money, number, date } = useLanguage();
  const u = step.usage;
  const folded = fold.steps.findLast((f) => f.messageId === step.message_id);
  const calls = timeline.calls.filter((c) => c.step === step.step);
  const cached = u?.cache_read_tokens ?? 0;
  return (
    <>
      <Facts
        rows={[
          [t("run.model"), step.model],
          [t("run.began"), date(step.started_at)],
          [t("run.firstToken"), step.first_token_at ? span(step.first_token_at - step.started_at) : ""],
          [t("run.took"), step.answered_at || step.ended_at ? span((step.answered_at || step.ended_at!) - step.started_at) : t("status.running")],
          [t("run.finish"), step.ended_at && !step.answered_at ? t("run.noAnswer") : step.finish_reason],
          [t("run.input"), u?.prompt_tokens ? number(u.prompt_tokens) + (cached ? ` (${t("run.cached", { n: cached })})` : "") : ""],
          [t("run.output"), u?.completion_tokens ? number(u.completion_tokens) : ""],
          [t("runs.cost"), step.cost_usd ? money(step.cost_usd) : ""],
        ]}
      />
      {folded?.reasoning && (
        <Part title={t("run.reasoning")}>
          <p className="prose-model text-muted">{folded.reasoning}</p>
        </Part>
      )}
      {folded?.text && (
        <Part title={t("run.answer")}>
          <p className="prose-model">{folded.text}</p>
        </Part>
      )}
      {calls.length > 0 && (
        <Part title={t("run.calls")}>
          <ul>
            {calls.map((c) => (
              <li key={c.call_id}>
                <Link to="/runs/$id/calls/$call" params={{ id: run.run_id, call: c.call_id }} replace className="flex min-h-7 items-center gap-2 hover:underline">
                  <Badge look={lookOf(c)} iconOnly />
                  <span className="mono">{c.tool_name}</span>
                </Link>
              </li>
            ))}
          </ul>
        </Part>
      )}
      <ForkHere run={run} step={step.step} text={t("fork.fromStep")} />
      <Seen run={run.run_id} step={step.step} />
    </>
  );
}

/** ForkHere leads to a fork that takes the place of a step. */
function ForkHere({ run, step, text }: { run: Run; step: number; text: string }) {
  const { t } = useLanguage();
  const governs = useGoverns();
  const navigate = useNavigate();
  return (
    <Button why={!governs ? t("fork.may") : run.status === "running" || run.status === "created" ? t("fork.works") : undefined} onClick={() => void navigate({ to: "/runs/$id/fork", params: { id: run.run_id }, search: { step: String(step) } })}>
      <GitFork aria-hidden className="size-3.5" />
      {text}
    </Button>
  );
}

function CallDetail({ call, fold, run }: { call: Call; fold: Fold; run: Run }) {
  const { t, span, date } = useLanguage();
  const who = useWho();
  const f = fold.calls.get(call.call_id);
  const decisions = call.decisions?.filter((d) => !d.outcome || call.doubt?.settled?.by !== "person"); // a settlement is shown as such
  return (
    <>
      <Facts
        rows={[
          [t("call.effect"), t(`effect.${call.effect || "effectful"}` as Key)],
          [t("call.queued"), call.queued_at ? date(call.queued_at) : ""],
          [t("call.started"), call.started_at ? date(call.started_at) : ""],
          [t("run.took"), call.started_at && call.ended_at ? span(call.ended_at - call.started_at) : ""],
          [t("call.attempts"), call.attempts],
          [t("call.probe"), call.probe],
          [
            t("call.key"),
            call.key && (
              <span className="inline-flex items-center gap-1">
                <span className="mono">{short(call.key)}</span>
                <CopyButton text={call.key} />
              </span>
            ),
          ],
          [
            t("call.child"),
            call.child_run_id && (
              <Link to="/runs/$id" params={{ id: call.child_run_id }} className="link mono">
                {short(call.child_run_id)}
              </Link>
            ),
          ],
        ]}
      />
      <Settlement run={run.run_id} call={call} />
      {call.question && (
        <Part title={t("call.question")}>
          <p className="[overflow-wrap:anywhere]">{call.question.message}</p>
          {call.question.asked_at && <p className="text-muted">{date(call.question.asked_at)}</p>}
          {call.status === "suspended" && (
            <Link to="/approvals/$run/$ticket" params={{ run: run.run_id, ticket: call.question.ticket_id }} className="link font-medium">
              {t("approvals.decide")}
            </Link>
          )}
        </Part>
      )}
      {decisions?.map((d, i) => (
        <Part key={i} title={t(d.outcome === "made" ? "settle.wasMade" : d.outcome === "not_made" ? "settle.wasNotMade" : d.action === "resume" ? "call.approved" : "call.refused")}>
          <p>
            {who(d.actor)}
            {d.updated_at ? ` · ${date(d.updated_at)}` : ""}
          </p>
          {d.reason && <p className="text-muted [overflow-wrap:anywhere]">{d.reason}</p>}
          {d.arguments !== undefined && <Json value={d.arguments} label={t("call.edited")} />}
        </Part>
      ))}
      {f?.args !== undefined && (
        <Part title={t("call.arguments")}>
          <Drawn tool={call.tool_name} args={f.args} result={f.result?.data} />
          <Json value={f.args} label={t("call.arguments")} />
        </Part>
      )}
      {f?.result && f.outcome !== "suspended" && (
        <Part title={t("call.result")}>
          <Json value={f.result.status === "error" ? (f.result.message ?? f.result.data) : f.result.data} label={t("call.result")} />
        </Part>
      )}
      {call.ended_at && <ForkHere run={run} step={call.step + 1} text={t("fork.otherResult")} />}
    </>
  );
}
