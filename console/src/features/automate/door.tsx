import { useLanguage } from "../../i18n/i18n";
import { Once, Secret } from "./parts";

/** What opens a trigger to another system. It is shown once. */
export interface Opened {
  title: string;
  url: string;
  secret?: string;
}

/** Door shows the URL of a trigger, its secret if that is new, and how to use them. */
export function Door({ opened, signed, close }: { opened: Opened; signed: boolean; close: () => void }) {
  const { t } = useLanguage();
  const curl = `curl -X POST '${opened.url}' \\\n  -H 'Content-Type: application/json' -H 'Idempotency-Key: deploy-1' \\\n  -d '{"version": "1.2.0"}'`;
  return (
    <Once title={opened.title} close={close}>
      <Secret label={t("triggers.url")} text={opened.url} hint={t(signed ? "triggers.urlSignedHint" : "triggers.urlHint")} />
      {opened.secret && <Secret label={t("automate.secret")} text={opened.secret} hint={t("triggers.secretHint")} />}
      {!signed && <Secret label={t("triggers.curl")} text={curl} />}
    </Once>
  );
}
