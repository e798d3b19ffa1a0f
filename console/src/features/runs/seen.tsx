import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, ask } from "../../api/client";
import { useLanguage } from "../../app/i18n/i18n";
import { Button } from "../../ui/button";
import { Json } from "../../ui/json";
import { Loaded } from "../../ui/state";

/** Seen shows what the model was asked in a step, once the user asks for it: it can be large. */
export function Seen({ run, step }: { run: string; step: number }) {
  const { t, number } = useLanguage();
  const [open, setOpen] = useState(false);
  const query = useQuery({
    queryKey: ["run", run, "request", step],
    queryFn: ({ signal }) => ask(api.GET("/v1/runs/{run_id}/steps/{step}/request", { params: { path: { run_id: run, step: String(step) } }, signal })),
    enabled: open,
    retry: false,
  });
  if (!open) return <Button onClick={() => setOpen(true)}>{t("run.seen")}</Button>;
  return (
    <section aria-label={t("run.seen")}>
      <h3 className="mb-1 text-dense font-semibold text-muted">{t("run.seen")}</h3>
      <Loaded query={query} rows={4}>
        {(data) => (
          <div className="flex flex-col gap-3">
            {Object.entries(data as Record<string, unknown>).map(([name, value]) => (
              <details key={name} open={name === "system"}>
                <summary className="cursor-pointer">
                  <span className="mono">{name}</span> {Array.isArray(value) && <span className="text-muted">{number(value.length)}</span>}
                </summary>
                <Json value={value} label={name} />
              </details>
            ))}
          </div>
        )}
      </Loaded>
    </section>
  );
}
