import { queryOptions, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { CircleHelp } from "lucide-react";
import { useState } from "react";
import { api, ask } from "../api/client";
import { useMay } from "../api/session";
import { useLanguage } from "../i18n/i18n";
import { Button } from "./button";
import { Confirm } from "./confirm";

/** restoredQuery asks which runs wait because the database was restored. */
const restoredQuery = queryOptions({
  queryKey: ["runs", "restored"],
  queryFn: ({ signal }) => ask(api.GET("/v1/restored", { params: { query: {} }, signal })),
});

/** release lets restored runs continue. An item that is refused is an error. */
export async function release(ids: string[]) {
  const result = await ask(api.POST("/v1/runs/release", { body: { ids } }));
  const failed = result.items.find((i) => i.error);
  if (failed) throw new Error(failed.error);
}

/** releaseAll releases every run, a hundred with each request. */
async function releaseAll() {
  for (;;) {
    const result = await ask(api.POST("/v1/runs/release", { body: { all: true } }));
    const failed = result.items.find((i) => i.error);
    if (failed) throw new Error(failed.error);
    if (result.items.length === 0) return;
    const left = await ask(api.GET("/v1/restored", { params: { query: {} } }));
    if (left.total === 0 || result.items.length < 100) return;
  }
}

/** Restored says that the database was restored, as long as runs wait for their release. */
export function Restored() {
  const { t, time } = useLanguage();
  const admin = useMay("admin");
  const client = useQueryClient();
  const [asks, setAsks] = useState(false);
  const query = useQuery({ ...restoredQuery, enabled: admin, staleTime: 10_000 });
  const all = useMutation({ mutationFn: releaseAll, onSettled: () => client.invalidateQueries({ queryKey: ["runs"] }) });
  const n = query.data?.total ?? 0;
  const mark = query.data?.restoration;
  if (!admin || n === 0 || !mark) return null;
  return (
    <div role="status" className="flex flex-wrap items-center gap-2 border-b border-line bg-sunken px-4 py-2">
      <CircleHelp aria-hidden className="size-4 shrink-0 text-doubt" />
      <p className="mr-auto min-w-0">
        {t("runs.restored", { n })} <span className="text-muted">{t("runs.restoredKnown", { at: time(mark.known_until) })}</span>
      </p>
      {all.error && (
        <span role="alert" className="text-fail">
          {all.error.message}
        </span>
      )}
      <Link to="/runs" search={{ waiting_reason: "restored" }} className="link touch inline-flex min-h-8 items-center px-2">
        {t("runs.restoredShow")}
      </Link>
      <Button disabled={all.isPending} onClick={() => setAsks(true)}>
        {t("runs.releaseAll")}
      </Button>
      <Confirm open={asks} onOpenChange={setAsks} title={t("runs.releaseTitle", { n })} action={t("runs.releaseN", { n })} onConfirm={() => all.mutate()}>
        <p>{t("runs.releaseHint")}</p>
      </Confirm>
    </div>
  );
}
