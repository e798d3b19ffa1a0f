import { useEffect, useState } from "react";
import type { Doc } from "../api/config";
import { useLanguage } from "../i18n/i18n";
import { Code } from "./code";
import type { Editing } from "./editing";
import { pretty } from "./savebar";

/** Raw edits the document as JSON. It never disagrees with the form: what cannot be read does not take effect. */
export function Raw({ editing }: { editing: Editing }) {
  const { t } = useLanguage();
  const [text, setText] = useState(pretty(editing.doc));
  const [bad, setBad] = useState("");
  const own = JSON.stringify(editing.doc);
  useEffect(() => {
    setText((now) => {
      try {
        if (JSON.stringify(JSON.parse(now)) === own) return now;
      } catch {
        return now;
      }
      return JSON.stringify(JSON.parse(own), null, 2);
    });
  }, [own]);
  return (
    <section aria-labelledby="raw-json" className="flex flex-col gap-2">
      <h2 id="raw-json" className="text-title font-semibold">
        {t("agent.raw")}
      </h2>
      <Code
        label={t("agent.raw")}
        value={text}
        invalid={bad !== ""}
        onChange={(next) => {
          setText(next);
          try {
            const doc = JSON.parse(next) as unknown;
            if (doc === null || typeof doc !== "object" || Array.isArray(doc)) throw new Error(t("doc.wantsObject"));
            setBad("");
            editing.set(doc as Doc);
          } catch (err) {
            setBad((err as Error).message);
          }
        }}
      />
      {bad && (
        <p role="alert" className="text-dense text-fail">
          {t("doc.badJson", { error: bad })}
        </p>
      )}
    </section>
  );
}
