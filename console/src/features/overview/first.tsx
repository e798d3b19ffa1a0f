import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Check, Code, Cpu, KeyRound, MessageSquarePlus, type LucideIcon } from "lucide-react";
import { useState, type ReactNode } from "react";
import { api, ask, base } from "../../api/client";
import { call, capabilitiesQuery, documentsQuery, type Doc } from "../../api/config";
import { useMay, useSession } from "../../api/session";
import { useLanguage } from "../../i18n/i18n";
import { Button } from "../../ui/button";
import { CopyButton } from "../../ui/id";

/** FirstSteps is what to do on a server that has run nothing yet: connect a model, try an agent, call it from code. */
export function FirstSteps() {
  const { t } = useLanguage();
  return (
    <section aria-label={t("overview.first")} className="flex flex-col gap-4 lg:col-span-2">
      <h2 className="text-page font-semibold">{t("overview.first")}</h2>
      <div className="grid gap-4 lg:grid-cols-2">
        <Step n={1} icon={Cpu} title={t("first.connect")}>
          <Connect />
        </Step>
        <Step n={2} icon={MessageSquarePlus} title={t("overview.try")}>
          <Try />
        </Step>
        <Step n={3} icon={Code} title={t("overview.code")} wide>
          <Snippets />
        </Step>
      </div>
    </section>
  );
}

function Step({ n, icon: Icon, title, children, wide }: { n: number; icon: LucideIcon; title: string; children: ReactNode; wide?: boolean }) {
  return (
    <section aria-label={title} className={`panel flex flex-col gap-3 p-4 ${wide ? "lg:col-span-2" : ""}`}>
      <h3 className="flex items-center gap-2 font-semibold">
        <span className="mono inline-flex size-6 items-center justify-center rounded-full bg-sunken text-muted">{n}</span>
        <Icon aria-hidden className="size-4 text-muted" />
        {title}
      </h3>
      {children}
    </section>
  );
}

const suggested: Record<string, string> = { anthropic: "claude-sonnet-4-5", openai: "gpt-5-mini", gemini: "gemini-2.5-flash", deepseek: "deepseek-chat", mistral: "mistral-large-latest", groq: "llama-3.3-70b-versatile", xai: "grok-4", ollama: "llama3.2" };

/** Connect takes a key, tests it, and has the first agent use the model. The key is not kept in the page. */
function Connect() {
  const { t, span } = useLanguage();
  const config = useMay("config");
  const client = useQueryClient();
  const capabilities = useQuery({ ...capabilitiesQuery, enabled: config });
  const providers = useQuery({ ...documentsQuery("providers"), enabled: config });
  const [adapter, setAdapter] = useState("anthropic");
  const [key, setKey] = useState("");
  const [url, setUrl] = useState("");
  const [model, setModel] = useState(suggested.anthropic!);
  const connect = useMutation({
    mutationFn: async () => {
      const doc: Doc = { id: adapter, adapter, ...(key && { api_key: key }), ...(url && { base_url: url }) };
      await put("providers", adapter, doc);
      const test = await ask(api.POST("/v1/providers/{id}/test", { params: { path: { id: adapter } } }));
      if (!test.ok) throw new Error(test.error ?? t("first.failed"));
      const id = model.replace(/[^\w.-]+/g, "-");
      await put("models", id, { id, provider_id: adapter, upstream_model: model });
      return { id, ms: test.latency_ms };
    },
    onSuccess: () => setKey(""),
    onSettled: () => client.invalidateQueries({ queryKey: ["config"] }),
  });
  const agents = useQuery({ ...documentsQuery("agents"), enabled: config && connect.isSuccess });
  const use = useMutation({
    mutationFn: ({ agent, id }: { agent: string; id: string }) => call("PATCH", `/v1/config/agents/${encodeURIComponent(agent)}/overrides`, { model_id: id }),
    onSuccess: () => {
      for (const queryKey of [["config"], ["agents"]]) void client.invalidateQueries({ queryKey });
    },
  });
  const [agent, setAgent] = useState("default");
  if (!config) {
    return (
      <>
        <p className="text-muted">{t("first.connectKey")}</p>
        <Link to="/sign-in" search={{ next: "/" }} className="touch inline-flex min-h-8 items-center gap-1.5 self-start rounded-md border border-border px-3 font-medium hover:bg-sunken">
          <KeyRound aria-hidden className="size-4" />
          {t("session.signIn")}
        </Link>
      </>
    );
  }
  const adapters = (capabilities.data as unknown as { supported_adapters?: string[] } | undefined)?.supported_adapters ?? Object.keys(suggested);
  const real = (providers.data ?? []).filter((p) => p.doc.adapter !== "scripted");
  const builtin = (agents.data ?? []).filter((a) => a.meta?.source.kind === "builtin").map((a) => String(a.doc.id));
  if (connect.data) {
    return (
      <div className="flex flex-col gap-3">
        <p role="status" className="flex items-center gap-1.5 text-ok">
          <Check aria-hidden className="size-4" />
          {t("first.works", { model: connect.data.id, time: span(connect.data.ms) })}
        </p>
        {use.isSuccess ? (
          <p role="status">{t("first.used", { agent: use.variables.agent, model: connect.data.id })}</p>
        ) : (
          <div className="flex flex-wrap items-end gap-2">
            <label className="flex flex-col gap-1 font-medium">
              {t("first.useFor")}
              <select className="field font-normal" value={agent} onChange={(e) => setAgent(e.target.value)}>
                {(builtin.length ? builtin : ["default"]).map((a) => (
                  <option key={a}>{a}</option>
                ))}
              </select>
            </label>
            <Button kind="primary" disabled={use.isPending} onClick={() => use.mutate({ agent, id: connect.data.id })}>
              {t("first.use")}
            </Button>
          </div>
        )}
        {use.error && (
          <p role="alert" className="text-fail [overflow-wrap:anywhere]">
            {use.error.message}
          </p>
        )}
      </div>
    );
  }
  return (
    <form
      className="flex flex-col gap-3"
      onSubmit={(e) => {
        e.preventDefault();
        if (model.trim()) connect.mutate();
      }}
    >
      <p className="text-muted">{real.length > 0 ? t("first.connected", { n: real.length }) : t("first.connectHint")}</p>
      <div className="grid gap-3 sm:grid-cols-2">
        <label className="flex flex-col gap-1 font-medium">
          {t("field.provider_id")}
          <select
            className="field font-normal"
            value={adapter}
            onChange={(e) => {
              setAdapter(e.target.value);
              setModel(suggested[e.target.value] ?? "");
            }}
          >
            {adapters
              .filter((a) => a !== "scripted")
              .map((a) => (
                <option key={a}>{a}</option>
              ))}
          </select>
        </label>
        <label className="flex flex-col gap-1 font-medium">
          {t("field.model_id")}
          <input className="field font-normal" required value={model} onChange={(e) => setModel(e.target.value)} />
        </label>
        <label className="flex flex-col gap-1 font-medium">
          {t("field.api_key")}
          <input className="field font-normal" type="password" autoComplete="off" value={key} onChange={(e) => setKey(e.target.value)} />
        </label>
        <label className="flex flex-col gap-1 font-medium">
          {t("first.url")}
          <input className="field font-normal" type="url" value={url} onChange={(e) => setUrl(e.target.value)} placeholder={t("first.urlHint")} />
        </label>
      </div>
      {connect.error && (
        <p role="alert" className="text-fail [overflow-wrap:anywhere]">
          {connect.error.message}
        </p>
      )}
      <div className="flex items-center gap-3">
        <span className="text-dense text-muted">{t("first.keyHint")}</span>
        <Button kind="primary" type="submit" className="ml-auto" why={model.trim() === "" ? t("why.noModel") : undefined} disabled={connect.isPending}>
          {t(connect.isPending ? "providers.testing" : "first.test")}
        </Button>
      </div>
    </form>
  );
}

/** put makes a document, or changes the one that is there. */
const put = (namespace: string, id: string, doc: Doc) => call("PUT", `/v1/config/${namespace}/${encodeURIComponent(id)}`, doc);

/** Try asks the first agent something, here. */
function Try() {
  const { t } = useLanguage();
  const may = useMay("run");
  const [text, setText] = useState("");
  const say = useMutation({
    mutationFn: async (content: string) => (await call("POST", "/v1/runs", { agent_id: "default", stream: false, messages: [{ role: "user", content }] })).data as { run_id: string; thread_id: string; response?: string },
  });
  return (
    <form
      className="flex flex-col gap-3"
      onSubmit={(e) => {
        e.preventDefault();
        if (text.trim()) say.mutate(text.trim());
      }}
    >
      <p className="text-muted">{t("overview.tryHint")}</p>
      <div className="flex gap-2">
        <input className="field min-w-0 flex-1" aria-label={t("threads.message")} placeholder={t("threads.placeholder")} value={text} onChange={(e) => setText(e.target.value)} />
        <Button kind="primary" type="submit" why={!may ? t("may.run") : text.trim() === "" ? t("why.noMessage") : undefined} disabled={say.isPending}>
          {t("threads.send")}
        </Button>
      </div>
      <div role="status">
        {say.isPending && <p className="text-muted">{t("status.running")}…</p>}
        {say.data && (
          <div className="flex flex-col gap-1 rounded-md bg-sunken p-3">
            <p className="prose-model">{say.data.response || t("status.done")}</p>
            <p className="flex gap-3">
              <Link to="/runs/$id" params={{ id: say.data.run_id }} className="link">
                {t("first.why")}
              </Link>
              <Link to="/threads/$id" params={{ id: say.data.thread_id }} className="link">
                {t("first.continue")}
              </Link>
            </p>
          </div>
        )}
      </div>
      {say.error && (
        <p role="alert" className="text-fail [overflow-wrap:anywhere]">
          {say.error.message}
        </p>
      )}
    </form>
  );
}

/** Snippets is the same call as curl, with the AI SDK and in Go. */
function Snippets() {
  const { t } = useLanguage();
  const session = useSession();
  const open = session?.open ?? false;
  const [at, setAt] = useState("curl");
  const snippets: Record<string, { name: string; text: string }> = {
    curl: {
      name: "curl",
      text: `curl -N ${base}/v1/runs${open ? "" : ' -H "Authorization: Bearer $AWAKEN_KEY"'} -H 'Content-Type: application/json' \\\n  -d '{"agent_id":"default","messages":[{"role":"user","content":"hello"}]}'`,
    },
    aisdk: {
      name: "AI SDK",
      text: `import { useChat } from "@ai-sdk/react";\nimport { DefaultChatTransport } from "ai";\n\nconst { messages, sendMessage } = useChat({\n  transport: new DefaultChatTransport({\n    api: "${base}/v1/ai-sdk/chat",${open ? "" : "\n    headers: { Authorization: `Bearer ${key}` }, // a key of the user, from your own server"}\n    body: { agentId: "default" },\n  }),\n});\nsendMessage({ text: "hello" });`,
    },
    go: {
      name: "Go",
      text: `body := strings.NewReader(\`{"agent_id":"default","stream":false,"messages":[{"role":"user","content":"hello"}]}\`)\nreq, _ := http.NewRequest("POST", "${base}/v1/runs", body)\nreq.Header.Set("Content-Type", "application/json")${open ? "" : '\nreq.Header.Set("Authorization", "Bearer "+os.Getenv("AWAKEN_KEY"))'}\nres, err := http.DefaultClient.Do(req)\nif err != nil {\n\treturn err\n}\ndefer res.Body.Close()\nio.Copy(os.Stdout, res.Body)`,
    },
  };
  const shown = snippets[at]!;
  return (
    <>
      <p className="text-muted">{t("overview.codeHint")}</p>
      <div role="group" aria-label={t("overview.code")} className="flex gap-1">
        {Object.entries(snippets).map(([id, s]) => (
          <button key={id} type="button" aria-pressed={at === id} onClick={() => setAt(id)} className="touch min-h-8 rounded-md px-3 text-muted hover:text-text aria-pressed:bg-sunken aria-pressed:font-medium aria-pressed:text-text">
            {s.name}
          </button>
        ))}
      </div>
      <div className="relative">
        <pre tabIndex={0} aria-label={shown.name} className="mono overflow-auto rounded-md bg-sunken p-3 pr-10">
          {shown.text}
        </pre>
        <div className="absolute top-1 right-1">
          <CopyButton text={shown.text} />
        </div>
      </div>
    </>
  );
}
