import { Link, useRouterState } from "@tanstack/react-router";
import { Lock } from "lucide-react";
import type { ReactNode } from "react";
import { useLanguage, type Key } from "../app/i18n/i18n";
import { useGoverns, useMay } from "../app/session";
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
