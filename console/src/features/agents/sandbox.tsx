import { useState } from "react";
import type { Doc } from "../../api/config";
import { useLanguage, type Key } from "../../i18n/i18n";
import { useChat } from "../../live/chat";
import { Button } from "../../ui/button";
import { Composer, Turns } from "../../ui/chat";

const PREVIEW = "/v1/ai-sdk/agent-previews/runs";

/** Sandbox talks to the agent as it is edited, and beside it to the one that runs use. Nothing of it reaches production. */
export function Sandbox({ doc, live, dirty }: { doc: Doc; live?: Doc; dirty: boolean }) {
  const { t } = useLanguage();
  const [side, setSide] = useState<"edited" | "live">("edited");
  const chats = { edited: useChat(PREVIEW, "preview"), live: useChat(PREVIEW, "preview") };
  const agents = { edited: doc, live };
  const both = live !== undefined && dirty;
  const shown = both ? side : "edited";
  const chat = chats[shown];
  const busy = chats.edited.busy || chats.live.busy;
  return (
    <>
      <header className="flex min-h-10 items-center gap-2 border-b border-line px-4 py-1.5">
        <h2 className="font-semibold">{t("sandbox.title")}</h2>
        {both && (
          <div role="group" aria-label={t("sandbox.which")} className="ml-auto flex gap-1">
            {(["edited", "live"] as const).map((s) => (
              <button key={s} type="button" aria-pressed={shown === s} onClick={() => setSide(s)} className="min-h-6 rounded-sm px-2 text-dense text-muted aria-pressed:bg-sunken aria-pressed:font-medium aria-pressed:text-text">
                {t(`sandbox.${s}` as Key)}
              </button>
            ))}
          </div>
        )}
      </header>
      <Turns turns={chat.turns} label={t("sandbox.title")} busy={busy} hint={<p>{t("sandbox.hint")}</p>} decide={(tool, approved) => void chat.decide(tool, approved, { agent: agents[shown] })} />
      <Composer
        label={t("sandbox.message")}
        busy={busy}
        stop={() => {
          chats.edited.stop();
          chats.live.stop();
        }}
        send={(text, files) => {
          void chats.edited.send(text, { agent: doc }, files);
          if (both) void chats.live.send(text, { agent: live }, files);
        }}
      >
        {chat.turns.length > 0 && !busy && (
          <Button
            kind="quiet"
            onClick={() => {
              chats.edited.clear();
              chats.live.clear();
            }}
          >
            {t("sandbox.again")}
          </Button>
        )}
      </Composer>
    </>
  );
}
