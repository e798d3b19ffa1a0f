import { useQuery } from "@tanstack/react-query";
import { Link, useRouterState } from "@tanstack/react-router";
import { useState } from "react";
import { api, ask } from "../../api/client";
import type { components } from "../../api/schema";
import { useGoverns } from "../../api/session";
import { useLanguage } from "../../i18n/i18n";
import { Button } from "../../ui/button";
import { Json } from "../../ui/json";
import { Blocks, Fold, Messages, Offered } from "../../ui/request";
import { Loaded } from "../../ui/state";

type Shown = components["schemas"]["ShownRequest"];

/** Seen shows what the model was asked in a step, once the user asks for it: it can be large. */
export function Seen({ run, step }: { run: string; step: number }) {
  const { t } = useLanguage();
  const governs = useGoverns();
  const here = useRouterState({ select: (s) => s.location.href });
  const [open, setOpen] = useState(false);
  const query = useQuery({
    queryKey: ["request", run, step],
    queryFn: ({ signal }) => ask(api.GET("/v1/runs/{run_id}/steps/{step}/request", { params: { path: { run_id: run, step: String(step) } }, signal })),
    enabled: open,
    retry: false,
  });
  if (!open) {
    return (
      <div className="flex flex-col gap-1">
        <Button why={governs ? undefined : t("may.govern")} onClick={() => setOpen(true)}>
          {t("run.seen")}
        </Button>
        {!governs && (
          <p className="text-dense text-muted">
            {t("may.govern")}{" "}
            <Link to="/sign-in" search={{ next: here }} className="link underline">
              {t("session.signIn")}
            </Link>
          </p>
        )}
      </div>
    );
  }
  return (
    <section aria-label={t("run.seen")} className="border-t border-line pt-3">
      <h3 className="mb-2 font-semibold">{t("run.seen")}</h3>
      <Loaded query={query} rows={4}>
        {(data) => <Request shown={data} />}
      </Loaded>
    </section>
  );
}

function Request({ shown }: { shown: Shown }) {
  const { t } = useLanguage();
  const parameters = Object.entries({ temperature: shown.temperature, top_p: shown.top_p, max_tokens: shown.max_tokens, reasoning_effort: shown.reasoning_effort }).filter(([, v]) => v !== undefined);
  return (
    <div className="flex flex-col gap-1">
      <Fold title={t("run.system")} open>
        <Blocks blocks={shown.system} />
      </Fold>
      {shown.summarised > 0 && <p className="text-muted">{t("run.summarised", { n: shown.summarised })}</p>}
      {shown.omitted_messages > 0 && <p className="text-muted">{t("run.omitted", { n: shown.omitted_messages })}</p>}
      <Fold title={t("run.messages")} count={shown.messages.length} open={shown.messages.length < 30}>
        <Messages list={shown.messages} />
      </Fold>
      <Fold title={t("run.tools")} count={shown.tools.length}>
        <Offered tools={shown.tools} />
      </Fold>
      {parameters.length > 0 && (
        <Fold title={t("run.parameters")} count={parameters.length}>
          <Json value={Object.fromEntries(parameters)} label={t("run.parameters")} />
        </Fold>
      )}
      {shown.unrecorded.length > 0 && (
        <Fold title={t("run.unrecorded")} count={shown.unrecorded.length}>
          <Json value={shown.unrecorded} label={t("run.unrecorded")} />
        </Fold>
      )}
      <Fold title="JSON">
        <Json value={shown} label="JSON" />
      </Fold>
    </div>
  );
}
