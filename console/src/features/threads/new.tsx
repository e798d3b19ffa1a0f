import { useMutation, useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { agentsQuery } from "../../api/agents";
import { api } from "../../api/client";
import { useMay } from "../../api/session";
import { useLanguage } from "../../i18n/i18n";
import { Button } from "../../ui/button";
import { Page } from "../../ui/page";

/** NewThread begins a conversation with an agent. */
export function NewThread() {
  const { t } = useLanguage();
  const search = useSearch({ from: "/threads/-/new" });
  const navigate = useNavigate();
  const may = useMay("run");
  const agents = useQuery(agentsQuery);
  const [agent, setAgent] = useState(search.agent_id ?? "default");
  const [text, setText] = useState("");
  const send = useMutation({
    mutationFn: async () => {
      const { data } = await api.POST("/v1/threads", { body: {} });
      const id = (data as { id: string }).id;
      await api.POST("/v1/threads/{thread_id}/messages", { params: { path: { thread_id: id } }, body: { agent_id: agent, messages: [{ role: "user", content: text }] } });
      return id;
    },
    onSuccess: (id) => navigate({ to: "/threads/$id", params: { id } }),
  });
  const list = agents.data ?? [];
  const chosen = list.find((a) => a.id === agent);
  return (
    <Page crumbs={[{ text: t("nav.threads"), to: "/threads" }, { text: t("threads.new") }]}>
      <form
        className="mx-auto flex w-full max-w-2xl flex-col gap-4 overflow-auto p-4"
        onSubmit={(e) => {
          e.preventDefault();
          if (text.trim() && may) send.mutate();
        }}
      >
        <label className="flex flex-col gap-1 font-medium">
          {t("runs.agent")}
          <select className="field font-normal" value={agent} onChange={(e) => setAgent(e.target.value)}>
            {!chosen && <option value={agent}>{agent}</option>}
            {list.map((a) => (
              <option key={a.id}>{a.id}</option>
            ))}
          </select>
          {chosen?.description && <span className="font-normal text-muted">{chosen.description}</span>}
        </label>
        <label className="flex flex-col gap-1 font-medium">
          {t("threads.message")}
          <textarea
            autoFocus
            rows={5}
            className="field font-normal"
            placeholder={t("threads.placeholder")}
            value={text}
            onChange={(e) => setText(e.target.value)}
            onKeyDown={(e) => {
              if (e.key === "Enter" && (e.metaKey || e.ctrlKey)) e.currentTarget.form?.requestSubmit();
            }}
          />
        </label>
        {send.error && (
          <p role="alert" className="text-fail [overflow-wrap:anywhere]">
            {send.error.message}
          </p>
        )}
        <Button kind="primary" type="submit" why={!may ? t("may.run") : text.trim() === "" ? t("why.noMessage") : undefined} disabled={send.isPending} className="self-end">
          {t("threads.send")} <kbd className="mono opacity-80 max-sm:hidden">⌘⏎</kbd>
        </Button>
      </form>
    </Page>
  );
}
