import { useState } from "react";
import { api, ask } from "../../api/client";
import { useMay } from "../../api/session";
import { useLanguage } from "../../i18n/i18n";
import { BatchLine, useBatch } from "../../ui/batch";
import { Button } from "../../ui/button";
import { Confirm } from "../../ui/confirm";
import { inDoubtOf, keyOf, type Approval } from "./queries";

/** like reports whether two questions may be decided together: they are about the same tool of the same agent, and need no answer of their own. */
export const like = (a: Approval, b: Approval) => a.tool_name === b.tool_name && a.agent_id === b.agent_id;
export const plain = (a: Approval) => a.ticket_id !== "" && a.resume_mode === "replay_tool_call" && !inDoubtOf(a);

/** Several decides questions that are alike, after it has said how many. */
export function Several({ chosen, clear }: { chosen: Approval[]; clear: () => void }) {
  const { t } = useLanguage();
  const may = useMay("run");
  const [asks, setAsks] = useState<"resume" | "cancel">();
  const [reason, setReason] = useState("");
  const batch = useBatch<{ approval: Approval; action: "resume" | "cancel" }>(
    (some) => ask(api.POST("/v1/approvals", { body: { decisions: some.map(({ approval: a, action }) => ({ run_id: a.run_id, ticket_id: a.ticket_id, action, decision_id: `several ${keyOf(a)}`, ...(reason ? { reason } : {}) })) } })),
    [["approvals"], ["runs"], ["counts"]],
  );
  const n = chosen.length;
  const why = may ? undefined : t("may.run");
  const tool = chosen[0]?.tool_name ?? "";
  return (
    <>
      {n > 0 && (
        <div className="flex flex-wrap items-center gap-2 border-b border-line bg-sunken px-4 py-2">
          <span className="mr-auto">{t("approvals.chosen", { n, tool })}</span>
          <button type="button" className="link touch min-h-8 px-2" onClick={clear}>
            {t("filter.clear")}
          </button>
          <Button kind="danger" why={why} onClick={() => setAsks("cancel")}>
            {t("approvals.refuseN", { n })}
          </Button>
          <Button kind="primary" why={why} onClick={() => setAsks("resume")}>
            {t("approvals.approveN", { n })}
          </Button>
        </div>
      )}
      <BatchLine batch={batch} />
      <Confirm
        open={asks !== undefined}
        onOpenChange={(o) => !o && setAsks(undefined)}
        title={t(asks === "cancel" ? "approvals.refuseTitle" : "approvals.approveTitle", { n, tool })}
        action={t(asks === "cancel" ? "approvals.refuseN" : "approvals.approveN", { n })}
        danger={asks === "cancel"}
        onConfirm={() => {
          if (asks) batch.start(chosen.map((approval) => ({ approval, action: asks })));
          clear();
        }}
      >
        {asks === "resume" && chosen.some((a) => a.effect === "effectful") && <p className="text-wait">{t("approvals.effectful")}</p>}
        <ul className="mono max-h-40 overflow-auto rounded-md bg-sunken p-2 text-text" tabIndex={0} aria-label={t("approvals.arguments")}>
          {chosen.map((a) => (
            <li key={keyOf(a)} className="truncate">
              {JSON.stringify(a.arguments)}
            </li>
          ))}
        </ul>
        <label className="flex flex-col gap-1 font-medium text-text">
          {t("approvals.note")}
          <input className="field font-normal" value={reason} onChange={(e) => setReason(e.target.value)} />
        </label>
      </Confirm>
    </>
  );
}
