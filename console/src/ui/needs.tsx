import { Link, useRouterState } from "@tanstack/react-router";
import { Lock, Unplug } from "lucide-react";
import type { ComponentProps, ReactNode } from "react";
import { useGoverns, useMay, useSession, type Session } from "../api/session";
import { useLanguage, type Key } from "../i18n/i18n";
import { Page } from "./page";
import { Empty } from "./state";

/** Needs shows a page to callers that may see it. The others are told which key they need, without a request that fails; a silent part of a page is left out. */
export function Needs({ ability, silent, children }: { ability: "admin" | "govern"; silent?: boolean; children: ReactNode }) {
  const { t } = useLanguage();
  const admin = useMay("admin");
  const governs = useGoverns();
  const here = useRouterState({ select: (s) => s.location.href });
  if (ability === "admin" ? admin : governs) return children;
  if (silent) return null;
  return (
    <Empty title={t("state.noPermission")} icon={Lock}>
      <p>{t(`needs.${ability}` as Key)}</p>
      <Link to="/sign-in" search={{ next: here }} className="touch mt-3 inline-flex min-h-8 items-center rounded-md bg-accent px-4 font-medium text-on-accent">
        {t("session.signIn")}
      </Link>
    </Empty>
  );
}

/** Has shows a page on servers that have its part. On others it says which setting turns it on. */
export function Has({ feature, setting, children }: { feature: keyof Session["features"]; setting: string; children: ReactNode }) {
  const { t } = useLanguage();
  const session = useSession();
  if (session?.features[feature]) return children;
  return (
    <Empty title={t("state.notInThisServer")} icon={Unplug}>
      <p>{t("state.turnedOnBy")}</p>
      <code className="mono mt-2 inline-block rounded-sm bg-sunken px-2 py-1 text-text">{setting}</code>
    </Empty>
  );
}

type Feature = Pick<ComponentProps<typeof Has>, "feature" | "setting">;

/** AdminPage is a page for administrators of servers that have its part. Only they see what can be done there. */
export function AdminPage({ feature, setting, children, actions, ...page }: ComponentProps<typeof Page> & Feature) {
  const admin = useMay("admin");
  const has = useSession()?.features[feature] === true;
  return (
    <Page {...page} actions={admin && has && actions}>
      <Needs ability="admin">
        <Has feature={feature} setting={setting}>
          {children}
        </Has>
      </Needs>
    </Page>
  );
}
