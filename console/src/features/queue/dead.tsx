import { useState } from "react";
import { api, ask } from "../../api/client";
import { useLanguage } from "../../i18n/i18n";
import { BatchLine, useBatch } from "../../ui/batch";
import { Button } from "../../ui/button";
import { Confirm } from "../../ui/confirm";
import type { Dispatch } from "./queries";

const stale = [["queue"], ["runs"], ["counts"]];
const MOST = 5000;

interface Page {
  data?: { pages: { items: Dispatch[] }[] };
  hasNextPage: boolean;
}

/** DeadBar retries or removes the dead letters that are chosen. */
export function DeadBar({ items, chosen, setChosen, more, total }: { items: Dispatch[]; chosen: ReadonlySet<string>; setChosen: (ids: ReadonlySet<string>) => void; more?: () => Promise<Page>; total: number }) {
  const { t } = useLanguage();
  const [asks, setAsks] = useState<"retry" | "remove">();
  const retry = useBatch<string>((ids) => ask(api.POST("/v1/dead-letters/retry", { body: { ids } })), stale);
  const remove = useBatch<string>((ids) => ask(api.POST("/v1/dead-letters/delete", { body: { ids } })), stale);
  const n = chosen.size;
  const busy = retry.running || remove.running;
  const all = async (on: boolean) => {
    if (!on) return setChosen(new Set());
    let page: Page | undefined;
    let known = items;
    let next = more;
    while (next && known.length < MOST) {
      page = await next();
      known = page.data?.pages.flatMap((p) => p.items) ?? known;
      if (!page.hasNextPage) next = undefined;
    }
    setChosen(new Set(known.map((d) => d.dispatch_id)));
  };
  const act = () => {
    const ids = [...chosen];
    setChosen(new Set());
    if (asks === "retry") {
      remove.clear();
      retry.start(ids);
    } else {
      retry.clear();
      remove.start(ids);
    }
  };
  return (
    <>
      {items.length > 0 && (
        <div className="flex flex-wrap items-center gap-2 border-b border-line px-4 py-1.5">
          <label className="touch mr-auto inline-flex min-h-8 items-center gap-2">
            <input type="checkbox" checked={n > 0 && n === items.length} ref={(el) => void (el && (el.indeterminate = n > 0 && n < items.length))} onChange={(e) => void all(e.target.checked)} disabled={busy} />
            {n > 0 ? t("queue.chosen", { n }) : t("queue.all", { n: total })}
          </label>
          <Button why={n === 0 ? t("why.noneChosen") : undefined} disabled={busy} onClick={() => setAsks("retry")}>
            {n ? t("queue.retry", { n }) : t("queue.retryNone")}
          </Button>
          <Button kind="danger" why={n === 0 ? t("why.noneChosen") : undefined} disabled={busy} onClick={() => setAsks("remove")}>
            {n ? t("queue.remove", { n }) : t("queue.removeNone")}
          </Button>
        </div>
      )}
      <BatchLine batch={retry} />
      <BatchLine batch={remove} />
      <Confirm open={asks !== undefined} onOpenChange={(o) => !o && setAsks(undefined)} title={t(asks === "remove" ? "queue.removeTitle" : "queue.retryTitle", { n })} action={t(asks === "remove" ? "queue.remove" : "queue.retry", { n })} danger={asks === "remove"} onConfirm={act}>
        <p>{t(asks === "remove" ? "queue.removeHint" : "queue.retryHint")}</p>
        {asks === "retry" && <p className="text-doubt">{t("queue.retryDoubt")}</p>}
      </Confirm>
    </>
  );
}
