import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { Download, Trash2 } from "lucide-react";
import { useState } from "react";
import { api, ask } from "../../api/client";
import type { components } from "../../api/schema";
import { useMay } from "../../api/session";
import { useLanguage } from "../../i18n/i18n";
import { Button } from "../../ui/button";
import { Confirm } from "../../ui/confirm";
import { save } from "../../ui/save";
import type { Message } from "./queries";

type Thread = components["schemas"]["ThreadView"];

/** Keep saves a conversation as a file, or deletes it after it has said what goes with it. */
export function Keep({ thread }: { thread: Thread }) {
  const { t } = useLanguage();
  const may = useMay("run");
  const client = useQueryClient();
  const navigate = useNavigate();
  const [asks, setAsks] = useState(false);
  const path = { thread_id: thread.id };
  const keep = useMutation({
    mutationFn: async () => {
      const all: Message[] = [];
      let cursor: string | undefined;
      do {
        const page = await ask(api.GET("/v1/threads/{thread_id}/messages", { params: { path, query: { limit: 200, visibility: "all", cursor } as never } }));
        all.push(...page.messages);
        cursor = page.has_more ? (page.next_cursor ?? undefined) : undefined;
      } while (cursor);
      save(`thread-${thread.id}.ndjson`, [JSON.stringify({ thread }), ...all.map((m) => JSON.stringify(m))].join("\n") + "\n", "application/x-ndjson");
    },
  });
  const children = useQuery({
    queryKey: ["thread", thread.id, "children"],
    queryFn: ({ signal }) => ask(api.GET("/v1/threads/summaries", { params: { query: { parent_thread_id: thread.id, limit: 1 } }, signal })),
    enabled: asks,
  });
  const remove = useMutation({
    mutationFn: () => api.DELETE("/v1/threads/{thread_id}", { params: { path, query: { child_strategy: "detach" } } }),
    onSuccess: async () => {
      await navigate({ to: "/threads" });
      await client.invalidateQueries({ queryKey: ["threads"] });
    },
  });
  const failed = keep.error ?? remove.error;
  const n = children.data?.total ?? 0;
  return (
    <>
      {failed && (
        <span role="alert" className="text-fail">
          {failed.message}
        </span>
      )}
      <Button onClick={() => keep.mutate()} disabled={keep.isPending} aria-label={t("action.export")} title={t("action.export")}>
        <Download aria-hidden className="size-3.5" />
        <span className="max-sm:hidden">{t("action.export")}</span>
      </Button>
      <Button why={may ? undefined : t("may.run")} disabled={remove.isPending} onClick={() => setAsks(true)} aria-label={t("threads.delete")} title={t("threads.delete")}>
        <Trash2 aria-hidden className="size-3.5" />
        <span className="max-sm:hidden">{t("threads.delete")}</span>
      </Button>
      <Confirm open={asks} onOpenChange={setAsks} title={t("threads.deleteTitle")} action={t("threads.delete")} danger onConfirm={() => remove.mutate()}>
        <p>{t("threads.deleteHint", { n: thread.message_count })}</p>
        {n > 0 && <p>{t("threads.deleteChildren", { n })}</p>}
      </Confirm>
    </>
  );
}
