import { useState } from "react";
import { api, ask } from "../../api/client";
import { useMay } from "../../api/session";
import { useLanguage } from "../../i18n/i18n";
import { BatchLine, useBatch } from "../../ui/batch";
import { Button } from "../../ui/button";
import { Confirm } from "../../ui/confirm";
import { short } from "../../ui/id";
import type { Run } from "./queries";

const held = (r: Run) => r.status === "waiting" && (r.waiting?.reason === "budget_exhausted" || r.waiting?.reason === "pin_unavailable");

/** Several cancels or continues the chosen runs, after it has said how many of them that concerns. */
export function Several({ chosen, clear }: { chosen: Run[]; clear: () => void }) {
  const { t } = useLanguage();
  const may = useMay("run");
  const [asks, setAsks] = useState(false);
  const keys = [["runs"], ["counts"], ["approvals"]];
  const cancel = useBatch<Run>((some) => ask(api.POST("/v1/runs/cancel", { body: { ids: some.map((r) => r.run_id) } })), keys);
  const resume = useBatch<Run>((some) => ask(api.POST("/v1/runs/continue", { body: { ids: some.map((r) => r.run_id) } })), keys);
  const open = chosen.filter((r) => r.status !== "done");
  const waiting = chosen.filter(held);
  const admin = useMay("admin");
  const restored = chosen.filter((r) => r.waiting?.reason === "restored");
  const letGo = useBatch<Run>((some) => ask(api.POST("/v1/runs/release", { body: { ids: some.map((r) => r.run_id) } })), keys);
  const why = (n: number, none: "runs.noneOpen" | "runs.noneHeld") => (!may ? t("may.run") : n === 0 ? t(none) : undefined);
  return (
    <>
      {chosen.length > 0 && (
        <div className="flex flex-wrap items-center gap-2 border-b border-line bg-sunken px-4 py-2">
          <span className="mr-auto">{t("runs.chosen", { n: chosen.length })}</span>
          <button type="button" className="link touch min-h-8 px-2" onClick={clear}>
            {t("filter.clear")}
          </button>
          <Button
            why={why(waiting.length, "runs.noneHeld")}
            onClick={() => {
              resume.start(waiting);
              clear();
            }}
          >
            {t("runs.continueN", { n: waiting.length })}
          </Button>
          {restored.length > 0 && (
            <Button
              why={!admin ? t("may.release") : undefined}
              onClick={() => {
                letGo.start(restored);
                clear();
              }}
            >
              {t("runs.releaseN", { n: restored.length })}
            </Button>
          )}
          <Button kind="danger" why={why(open.length, "runs.noneOpen")} onClick={() => setAsks(true)}>
            {t("runs.cancelN", { n: open.length })}
          </Button>
        </div>
      )}
      <BatchLine batch={cancel} />
      <BatchLine batch={resume} />
      <BatchLine batch={letGo} />
      <Confirm
        open={asks}
        onOpenChange={setAsks}
        title={t("runs.cancelTitle", { n: open.length })}
        action={t("runs.cancelN", { n: open.length })}
        danger
        onConfirm={() => {
          cancel.start(open);
          clear();
        }}
      >
        <p>{t("runs.cancelHint")}</p>
        <ul className="mono max-h-40 overflow-auto rounded-md bg-sunken p-2 text-text" tabIndex={0} aria-label={t("nav.runs")}>
          {open.map((r) => (
            <li key={r.run_id} className="truncate">
              {short(r.run_id)} {r.agent_id}
            </li>
          ))}
        </ul>
      </Confirm>
    </>
  );
}
