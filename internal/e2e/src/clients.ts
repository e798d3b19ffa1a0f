// The client packages, of both majors, behind one set of types.
import * as ai6 from "ai6";
import * as ai601 from "ai601";
import * as ai7 from "ai7";
import * as react6 from "react6";
import * as react7 from "react7";

/* The types of the majors differ in what does not matter here. */
/* eslint-disable @typescript-eslint/no-explicit-any */
export type Part = any;
export type Message = { id: string; role: string; metadata?: any; parts: Part[] };
export type Chat = any;

export const packages: Record<string, any> = { "6.0.1": ai601, "6": ai6, "7": ai7 };
export const majors: Record<string, { Chat: any; ai: any }> = { "6": { Chat: react6.Chat, ai: ai6 }, "7": { Chat: react7.Chat, ai: ai7 } };

export type Setup = {
  url: string;
  id: string;
  messages?: Message[];
  body?: object;
  fetch?: typeof fetch;
  reconnect?: string | true; // the run to stream, as the history names it; or that of the page's last message
  prepare?: (args: any) => any;
  [option: string]: any;
};

/** A chat as a page has it: the Chat that useChat wraps, with the default transport. */
export function newChat(major: string, { url, id, messages, body, fetch, reconnect, prepare, ...options }: Setup): Chat {
  const { Chat, ai } = majors[major];
  const transport = new ai.DefaultChatTransport({
    api: `${url}/v1/ai-sdk/chat`,
    body: { agentId: "scenario", ...body },
    fetch,
    prepareSendMessagesRequest: prepare,
    prepareReconnectToStreamRequest: reconnect
      ? () => ({ api: `${url}/v1/ai-sdk/chat/${id}/stream?runId=${reconnect === true ? last(chat).metadata.runId : reconnect}` })
      : undefined,
  });
  const chat = new Chat({ id, messages, transport, ...options });
  return chat;
}

/** How long nothing may happen. A busy machine is slow, but something happens. */
const quiet = 120_000;

/** Resolves when the chat is as wanted, looking whenever it changes. Fails when it has not changed for long. */
export function until(chat: Chat, wanted: () => boolean, what = String(wanted)): Promise<void> {
  return new Promise((done, failed) => {
    const stops: (() => void)[] = [];
    const timer = setTimeout(() => failed(new Error(`nothing happened for ${quiet} ms: ${what}; messages: ${JSON.stringify(chat.messages)}; status: ${chat.status}; error: ${chat.error}`)), quiet);
    const look = () => {
      timer.refresh();
      if (!wanted()) return;
      clearTimeout(timer);
      for (const stop of stops) stop();
      done();
    };
    stops.push(chat["~registerMessagesCallback"](look), chat["~registerStatusCallback"](look), chat["~registerErrorCallback"](look));
    look();
  });
}

export const last = (chat: Chat): Message => chat.messages.at(-1);
export const textOf = (m?: Message): string => (m?.parts ?? []).filter((p) => p.type === "text").map((p) => p.text).join("");
export const toolsOf = (m?: Message): Part[] => (m?.parts ?? []).filter((p) => p.type.startsWith("tool-"));
export const dataOf = (m: Message | undefined, name: string): Part[] => (m?.parts ?? []).filter((p) => p.type === `data-${name}`);

/** The messages as they are on the wire. */
export const plain = (chat: Chat): Message[] => JSON.parse(JSON.stringify(chat.messages));

/** The part of a message that a server stores: no custom data, no state of streaming. */
export function lasting(m: Message): object {
  return {
    id: m.id,
    role: m.role,
    metadata: m.metadata,
    parts: m.parts
      .filter((p) => !p.type.startsWith("data-") && !p.type.startsWith("source-"))
      .map((p) => Object.fromEntries(["type", "text", "toolCallId", "state", "input", "output", "errorText", "url", "mediaType", "providerExecuted"].filter((k) => p[k] !== undefined).map((k) => [k, p[k]]))),
  };
}

export async function history(url: string, id: string, query = ""): Promise<{ messages: Message[]; total: number; has_more: boolean; activeRunId?: string }> {
  const got = await fetch(`${url}/v1/ai-sdk/threads/${id}/messages?limit=200${query}`);
  if (got.status !== 200) throw new Error(`history: ${got.status} ${await got.text()}`);
  return got.json() as any;
}

/** Resolves when the thread's latest run has ended or waits, following its events. */
export async function settled(url: string, id: string) {
  const run: any = await (await fetch(`${url}/v1/threads/${id}/runs/latest`)).json();
  const stream = await fetch(`${url}/v1/ai-sdk/runs/${run.run_id}/stream`);
  await stream.text();
}

/** Stops the answer that is being given. */
export const cancel = (url: string, id: string) => fetch(`${url}/v1/ai-sdk/threads/${id}/cancel`, { method: "POST" });

let made = 0;
export const newID = (what: string) => `${what}-${process.pid}-${++made}`;
