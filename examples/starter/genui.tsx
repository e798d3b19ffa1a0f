// Draws what agents draw, with the renderers of the three formats: A2UI, JSON Render and OpenUI. Both starters use it:
// they pass what their protocol knows about a tool call, and send actions back in their own way.
import { A2UIProvider, A2UIRenderer, initializeDefaultCatalog, useA2UIActions } from "@a2ui/react/v0_8";
import { injectStyles } from "@a2ui/react/styles";
import { A2uiSurface, basicCatalog } from "@a2ui/react/v0_9";
import { MessageProcessor } from "@a2ui/web_core/v0_9";
import { compileSpecStream, defineCatalog } from "@json-render/core";
import { defineRegistry, JSONUIProvider, Renderer as JsonRenderer, useBoundProp } from "@json-render/react";
import { schema } from "@json-render/react/schema";
import { Renderer as OpenUIRenderer } from "@openuidev/react-lang";
import { openuiChatLibrary } from "@openuidev/react-ui/genui-lib";
import "@openuidev/react-ui/styles/index.css";
import { createContext, type ReactNode, useContext, useLayoutEffect, useMemo, useReducer, useRef, useState } from "react";
import { z } from "zod";

// eslint-disable-next-line @typescript-eslint/no-explicit-any
type Any = any;

/** What a user did in an interface, as A2UI's events are: {userAction} of v0.8, {version, action} of v0.9. */
export type UIEvent = { userAction: Action } | { version: string; action: Action };
type Action = { name: string; surfaceId: string; sourceComponentId?: string; timestamp: string; context: Record<string, unknown> };

initializeDefaultCatalog();
injectStyles();

/** The surfaces of A2UI that the conversation has drawn. Several calls may change one; the first of them shows it. */
class Board {
  #fed = new Map<string, number>(); // messages by call
  #owner = new Map<string, { call: string; old: boolean }>(); // by surface
  readonly processor: MessageProcessor<Any>;

  constructor(act: (e: UIEvent) => void) {
    this.processor = new MessageProcessor([basicCatalog], ((action: Action) => act({ version: "v0.9", action })) as Any);
  }

  // feed passes the messages of a call on, each once. The last one may be incomplete while the call streams.
  feed(call: string, messages: Any[], complete: boolean, old: (m: Any[]) => void): boolean {
    const upto = complete ? messages.length : messages.length - 1;
    const from = this.#fed.get(call) ?? 0;
    for (let i = from; i < upto; i++) {
      const m = messages[i];
      const body: Any = Object.values(m).find((v) => typeof v === "object") ?? {};
      const isOld = "surfaceUpdate" in m || "dataModelUpdate" in m || "beginRendering" in m || ("deleteSurface" in m && this.#owner.get(body.surfaceId)?.old);
      if ("deleteSurface" in m) this.#owner.delete(body.surfaceId);
      else if (!this.#owner.has(body.surfaceId)) this.#owner.set(body.surfaceId, { call, old: !!isOld });
      try {
        if (isOld) old([m]);
        else this.processor.processMessages([{ ...m, version: m.version === "v0.9.1" ? m.version : "v0.9" }]);
      } catch (e) {
        console.warn("A2UI:", e);
      }
    }
    this.#fed.set(call, Math.max(from, upto));
    return upto > from;
  }

  shownBy(call: string) {
    return [...this.#owner].filter(([, o]) => o.call === call).map(([id, o]) => ({ id, old: o.old }));
  }
}

const BoardContext = createContext<{ board: Board; act: (e: UIEvent) => void } | undefined>(undefined);

/** Holds what is drawn below it. Act sends an action to the agent. */
export function GenUI({ act, children }: { act: (e: UIEvent) => void; children: ReactNode }) {
  const latest = useRef(act);
  latest.current = act;
  const [value] = useState(() => {
    const send = (e: UIEvent) => latest.current(e);
    return { board: new Board(send), act: send };
  });
  return (
    <A2UIProvider onAction={(m: Any) => value.act(m)}>
      <BoardContext.Provider value={value}>{children}</BoardContext.Provider>
    </A2UIProvider>
  );
}

/** The tools whose calls are drawn. */
export const drawingTools = ["render_a2ui", "render_json_ui", "render_openui_ui"];

/** What a call of such a tool draws. State is that of the call: streaming while its input arrives. */
export function Drawn({ tool, call, input, output: result, streaming }: { tool: string; call: string; input: Any; output?: Any; streaming: boolean }) {
  const output = result?.data ?? result; // a result with metadata has its data apart
  if (tool === "render_a2ui") return <A2ui call={call} input={input} complete={!streaming} />;
  const id = output?.surface_id ?? input?.surface_id ?? call;
  const text = typeof output === "string" ? output : ""; // what a sub-agent has written so far
  const done = !!output?.rendered;
  if (tool === "render_json_ui") return <JsonUI spec={output?.spec ?? compiled(text) ?? (typeof input?.spec === "object" ? input.spec : null)} surfaceId={id} streaming={!done} />;
  return <OpenUI code={output?.code ?? (text || input?.code || "")} surfaceId={id} streaming={!done} />;
}

/** The spec that lines of JSON Patch make, as far as they have arrived. */
function compiled(text: string): Any {
  return text.trimStart().startsWith("{") ? compileSpecStream<Any>(text) : null;
}

/** The messages of a call, however the model passed them. */
function messagesOf(input: Any): Any[] {
  if (!input || typeof input !== "object") return [];
  return Array.isArray(input.messages) ? input.messages.filter((m: Any) => m && typeof m === "object") : [input];
}

function A2ui({ call, input, complete }: { call: string; input: Any; complete: boolean }) {
  const { board } = useContext(BoardContext)!;
  const { processMessages } = useA2UIActions();
  const [, again] = useReducer((n: number) => n + 1, 0);
  useLayoutEffect(() => {
    if (board.feed(call, messagesOf(input), complete, processMessages)) again();
  }, [call, input, complete]);
  return (
    <>
      {board.shownBy(call).map(({ id, old }) => {
        const surface = old ? undefined : board.processor.model.getSurface(id);
        return (
          <section key={id} className={old ? "surface a2ui" : "surface a2ui v09"} data-surface={id}>
            {old ? <A2UIRenderer surfaceId={id} /> : surface && <A2uiSurface surface={surface} />}
          </section>
        );
      })}
    </>
  );
}

// The catalogue of this page for JSON Render. `catalog.prompt()` would describe it to a model.
const catalog = defineCatalog(schema, {
  components: {
    Card: { props: z.object({ title: z.string().nullable() }), description: "A card with a title" },
    Stack: { props: z.object({ direction: z.enum(["row", "column"]).nullable() }), description: "Children beside or below each other" },
    Heading: { props: z.object({ text: z.string() }), description: "A heading" },
    Text: { props: z.object({ text: z.string() }), description: "A text" },
    Metric: { props: z.object({ label: z.string(), value: z.string() }), description: "A figure with a label" },
    Input: { props: z.object({ label: z.string(), value: z.string().nullable() }), description: "A text that the user enters" },
    Button: { props: z.object({ label: z.string() }), description: "A button, with on.press" },
  },
  actions: {},
} as Any);

const { registry } = defineRegistry(catalog as Any, {
  components: {
    Card: ({ props, children }: Any) => <div className="jr-card">{props.title && <h3>{props.title}</h3>}{children}</div>,
    Stack: ({ props, children }: Any) => <div className="jr-stack" data-direction={props.direction ?? "column"}>{children}</div>,
    Heading: ({ props }: Any) => <h4>{props.text}</h4>,
    Text: ({ props }: Any) => <p>{props.text}</p>,
    Metric: ({ props }: Any) => <p className="jr-metric"><b>{props.value}</b> {props.label}</p>,
    Input: ({ props, bindings }: Any) => {
      const [value, setValue] = useBoundProp<string>(props.value, bindings?.value);
      return <label className="jr-input">{props.label}<input value={value ?? ""} onChange={(e) => setValue(e.target.value)} /></label>;
    },
    Button: ({ props, emit }: Any) => <button type="button" onClick={() => emit("press")}>{props.label}</button>,
  },
} as Any);

/** An interface of JSON Render. Without a surface, its actions go nowhere. */
export function JsonUI({ spec, surfaceId, streaming }: { spec: Any; surfaceId?: string; streaming: boolean }) {
  const { act } = useContext(BoardContext)!;
  const handlers = useMemo(() => {
    const out: Record<string, (params: Record<string, unknown>) => void> = {};
    for (const e of Object.values<Any>(spec?.elements ?? {})) {
      for (const b of Object.values<Any>(e?.on ?? {}).flat()) {
        if (b?.action) out[b.action] = (context) => surfaceId && act({ userAction: { name: b.action, surfaceId, timestamp: new Date().toISOString(), context: context ?? {} } });
      }
    }
    return out;
  }, [spec, surfaceId]);
  if (!spec?.root || !spec.elements?.[spec.root]) return null;
  return (
    <section className="surface json-render" data-surface={surfaceId}>
      <JSONUIProvider key={JSON.stringify(spec.state ?? {})} registry={registry} initialState={spec.state ?? {}} handlers={handlers}>
        <JsonRenderer spec={spec} registry={registry} loading={streaming} />
      </JSONUIProvider>
    </section>
  );
}

/** An interface of OpenUI. Say sends what an answer itself offers; calls have a surface. */
export function OpenUI({ code, surfaceId, streaming, say }: { code: string; surfaceId?: string; streaming: boolean; say?: (text: string) => void }) {
  const { act } = useContext(BoardContext)!;
  const onAction = (e: Any) => {
    if (e.type === "open_url") return void window.open(e.params?.url, "_blank", "noopener");
    if (!surfaceId) return say?.(e.humanFriendlyMessage);
    act({ userAction: { name: e.type, surfaceId, sourceComponentId: "root", timestamp: new Date().toISOString(), context: { message: e.humanFriendlyMessage, form: e.formState ?? {} } } });
  };
  return (
    <section className="surface openui" data-surface={surfaceId}>
      <OpenUIRenderer response={code} library={openuiChatLibrary} isStreaming={streaming} onAction={onAction} />
    </section>
  );
}

/** The answer of an agent that answers with an interface: while it streams, what can be drawn of it. */
export function Answer({ format, text, streaming, say }: { format: string; text: string; streaming: boolean; say: (text: string) => void }) {
  const spec = useMemo(() => (format === "json-render" ? compiled(text) : null), [format, text]);
  if (format === "openui-lang" && /^\s*[$\w]+ = /.test(text)) return <OpenUI code={text} streaming={streaming} say={say} />;
  if (spec?.root) return <JsonUI spec={spec} streaming={streaming} />;
  return <span className="text">{text}</span>;
}

/** The format of an agent's answers, by its id in the demo profile. */
export const answerFormats: Record<string, string> = { "openui-ui": "openui-lang", "json-render-ui": "json-render" };

const openUIForm = `root = Card([header, form])
header = CardHeader("Order", "Two questions")
form = Form("order", buttons, [who, how])
who = FormControl("Your name", Input("name", "Ann"))
how = FormControl("How many?", Input("amount", "1", "number"))
buttons = Buttons([send])
send = Button("Send", Action([@ToAssistant("Send the order")]), "primary")`;

/** What the demo agents draw on request: a label, and the message that asks for it. */
export const samples: Record<string, [string, string][]> = {
  a2ui: [
    ["a card", "RUN_A2UI_TOOL"],
    ["a form", `RUN_TOOL render_a2ui ${JSON.stringify({ messages: form() })}`],
    ["a form, v0.9", `RUN_TOOL render_a2ui ${JSON.stringify({ messages: form09() })}`],
    ["change the data", 'RUN_TOOL render_a2ui {"dataModelUpdate":{"surfaceId":"table","contents":[{"key":"name","valueString":"Grace"},{"key":"seats","valueNumber":4}]}}'],
  ],
  "json-render": [["a form", 'RUN_TOOL render_json_ui {"prompt":"DRAW_JSON_UI: a form for a table","surface_id":"table"}']],
  openui: [
    ["the weather", 'RUN_TOOL render_openui_ui {"prompt":"the weather in Tokyo"}'],
    ["a form", `RUN_TOOL render_openui_ui ${JSON.stringify({ surface_id: "order", code: openUIForm })}`],
  ],
  "openui-ui": [["the weather", "the weather"]],
  "json-render-ui": [["a form", "DRAW_JSON_UI"]],
};

function form() {
  const text = (literalString: string) => ({ literalString });
  return [
    { surfaceUpdate: { surfaceId: "table", components: [
      { id: "card", component: { Card: { child: "column" } } },
      { id: "column", component: { Column: { children: { explicitList: ["title", "name", "seats", "book"] } } } },
      { id: "title", component: { Text: { text: text("Book a table"), usageHint: "h2" } } },
      { id: "name", component: { TextField: { label: text("Name"), text: { path: "/name" } } } },
      { id: "seats", component: { Slider: { value: { path: "/seats" }, minValue: 1, maxValue: 8 } } },
      { id: "book", component: { Button: { child: "label", primary: true, action: { name: "book", context: [{ key: "name", value: { path: "/name" } }, { key: "seats", value: { path: "/seats" } }] } } } },
      { id: "label", component: { Text: { text: text("Book") } } },
    ] } },
    { dataModelUpdate: { surfaceId: "table", contents: [{ key: "name", valueString: "Ada" }, { key: "seats", valueNumber: 2 }] } },
    { beginRendering: { surfaceId: "table", root: "card", styles: { primaryColor: "#2f6feb" } } },
  ];
}

function form09() {
  const version = "v0.9";
  return [
    { version, createSurface: { surfaceId: "rating", catalogId: basicCatalog.id } },
    { version, updateComponents: { surfaceId: "rating", components: [
      { id: "root", component: "Card", child: "column" },
      { id: "column", component: "Column", children: ["title", "kind", "note", "send"] },
      { id: "title", component: "Text", text: "How was it?", variant: "h3" },
      { id: "kind", component: "ChoicePicker", variant: "mutuallyExclusive", options: [{ label: "Good", value: "good" }, { label: "Not so good", value: "bad" }], value: { path: "/kind" } },
      { id: "note", component: "TextField", label: "What should we know?", value: { path: "/note" } },
      { id: "send", component: "Button", child: "label", variant: "primary", action: { event: { name: "rate", context: { kind: { path: "/kind" }, note: { path: "/note" } } } } },
      { id: "label", component: "Text", text: "Send" },
    ] } },
    { version, updateDataModel: { surfaceId: "rating", value: { kind: ["good"], note: "" } } },
  ];
}
