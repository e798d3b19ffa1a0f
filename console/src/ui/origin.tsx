import { Link } from "@tanstack/react-router";
import { GitFork } from "lucide-react";
import type { components } from "../api/schema";
import { useLanguage } from "../app/i18n/i18n";
import { short } from "./id";

/** Origin says what a thread was forked from, and leads to both runs side by side if the fork is known. */
export function Origin({ from, fork }: { from?: components["schemas"]["ForkedFrom"]; fork?: string }) {
  const { t } = useLanguage();
  if (!from) return null;
  return (
    <p className="flex flex-wrap items-center gap-2 border-b border-line bg-sunken px-4 py-1.5">
      <GitFork aria-hidden className="size-3.5 text-muted" />
      {from.run_id ? (
        <Link to="/runs/$id/steps/$step" params={{ id: from.run_id, step: String(from.step ?? 0) }} className="link">
          {t("fork.fromRun", { run: short(from.run_id), step: from.step ?? 0 })}
        </Link>
      ) : (
        <Link to="/threads/$id" params={{ id: from.thread_id }} className="link">
          {t("fork.fromThread", { thread: short(from.thread_id), n: from.seq })}
        </Link>
      )}
      {from.run_id && fork && (
        <Link to="/runs/$id/beside/$other" params={{ id: fork, other: from.run_id }} search={{ step: String(from.step ?? 0) }} className="link">
          {t("beside.title")}
        </Link>
      )}
    </p>
  );
}
