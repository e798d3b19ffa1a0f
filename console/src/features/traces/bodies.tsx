import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useGoverns } from "../../api/session";
import { settingsQuery } from "../../api/settings";
import { useLanguage, type Key } from "../../i18n/i18n";
import { CopyButton } from "../../ui/id";
import { Json } from "../../ui/json";
import { Blocks, Fold, Messages, Offered, removedFrom, type Told } from "../../ui/request";

/** A request to a model as it was sent, with what arrived. */
export interface Body {
  id: string;
  ended_at_ms: number;
  request_digest: string;
  request: { model: string; system?: Told["content"]; tools?: { name: string; description?: string }[]; messages: Told[]; omitted_messages?: number; [parameter: string]: unknown };
  response?: Told;
  finish_reason?: string;
  usage?: Record<string, number>;
  error?: string;
}

const parts = new Set(["model", "system", "tools", "messages", "omitted_messages"]);
const MANY = 12; // more messages than these are folded
const LONG = 20_000; // and so is a text with more letters

/** Bodies shows the requests of an inference word for word, or says why the server has none. */
export function Bodies({ list }: { list?: Body[] }) {
  const { t } = useLanguage();
  return (
    <section aria-label={t("traces.bodies")} className="flex flex-col gap-3 border-t border-line pt-3">
      <h3 className="font-semibold">{t("traces.bodies")}</h3>
      {list?.length ? list.map((b, i) => <One key={b.id} body={b} title={list.length > 1 ? t("traces.body", { n: i + 1, of: list.length }) : undefined} />) : <None />}
    </section>
  );
}

/** None says which setting decides whether there are bodies, and what it says to those who may know. */
function None() {
  const { t, word } = useLanguage();
  const governs = useGoverns();
  const settings = useQuery({ ...settingsQuery, enabled: governs });
  const policy = settings.data?.items.find((s) => s.name === "traces.bodies")?.value.replaceAll('"', "") ?? "";
  return (
    <div className="flex flex-col gap-1 text-muted">
      <p>{word(`traces.policy.${policy}`) ?? t("traces.withoutBody")}</p>
      <p>
        {t("traces.bodySetting")}{" "}
        {governs ? (
          <Link to="/system" search={{ q: "traces.bod" }} className="link mono">
            traces.bodies
          </Link>
        ) : (
          <code className="mono">traces.bodies</code>
        )}
      </p>
    </div>
  );
}

function One({ body: b, title }: { body: Body; title?: string }) {
  const { t, date, number } = useLanguage();
  const { request: r } = b;
  const removed = removedFrom([r, b.response]);
  const parameters = Object.fromEntries(Object.entries(r).filter(([name, v]) => !parts.has(name) && v !== undefined && v !== null));
  const large = r.messages.length > MANY || JSON.stringify(r.messages).length > LONG;
  return (
    <article aria-label={title ?? t("traces.bodies")} className="flex flex-col gap-1">
      {title && <h4 className="font-medium">{title}</h4>}
      <dl className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-4 gap-y-1">
        <Fact name="traces.bodyModel">{r.model}</Fact>
        <Fact name="traces.bodyEnded">{date(b.ended_at_ms)}</Fact>
        {b.finish_reason && <Fact name="traces.bodyFinish">{b.finish_reason}</Fact>}
        {b.usage && <Fact name="traces.bodyTokens">{t("traces.bodyUsage", { input: number(b.usage.prompt_tokens ?? 0), output: number(b.usage.completion_tokens ?? 0) })}</Fact>}
        <Fact name="traces.digest">
          <span className="flex items-center gap-1">
            <code className="mono truncate" title={b.request_digest}>
              {b.request_digest.slice(0, 16)}…
            </code>
            <CopyButton text={b.request_digest} label={t("traces.copyDigest")} />
          </span>
        </Fact>
      </dl>
      {b.error && (
        <p role="note" className="text-fail [overflow-wrap:anywhere]">
          {b.error}
        </p>
      )}
      {removed > 0 && <p className="text-wait">{t("traces.removed", { n: removed })}</p>}
      {Object.keys(parameters).length > 0 && (
        <Fold title={t("run.parameters")} count={Object.keys(parameters).length} open>
          <Json value={parameters} label={t("run.parameters")} />
        </Fold>
      )}
      {r.system && (
        <Fold title={t("run.system")}>
          <Blocks blocks={r.system} cleaned />
        </Fold>
      )}
      {(r.omitted_messages ?? 0) > 0 && <p className="text-wait">{t("traces.omitted", { n: r.omitted_messages ?? 0 })}</p>}
      <Fold title={t("run.messages")} count={r.messages.length} open={!large}>
        <Messages list={r.messages} cleaned />
      </Fold>
      {r.tools && (
        <Fold title={t("run.tools")} count={r.tools.length}>
          <Offered tools={r.tools} />
        </Fold>
      )}
      {b.response && (
        <Fold title={t("traces.response")} open={JSON.stringify(b.response).length <= LONG}>
          <Messages list={[b.response]} cleaned />
        </Fold>
      )}
      <Fold title={t("traces.wholeBody")}>
        <Json value={b} label={t("traces.wholeBody")} />
      </Fold>
    </article>
  );
}

function Fact({ name, children }: { name: Key; children: ReactNode }) {
  const { t } = useLanguage();
  return (
    <div className="contents">
      <dt className="text-muted">{t(name)}</dt>
      <dd className="min-w-0 [overflow-wrap:anywhere]">{children}</dd>
    </div>
  );
}
