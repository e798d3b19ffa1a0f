import { Link } from "@tanstack/react-router";
import { useEffect, type ReactNode } from "react";

export interface Crumb {
  text: string;
  to?: string;
}

/** Page is the frame of a page: where it is, what it is about, and what can be done here. */
export function Page({ crumbs, badge, actions, children, title }: { crumbs: Crumb[]; badge?: ReactNode; actions?: ReactNode; children: ReactNode; title?: string }) {
  const last = crumbs.at(-1)?.text ?? "";
  useEffect(() => {
    document.title = `${title ?? last} · Awaken`;
  }, [title, last]);
  return (
    <div className="flex h-full min-h-0 flex-col">
      <header className="flex min-h-12 flex-wrap items-center gap-x-3 gap-y-1 border-b border-line px-4 py-2">
        <nav aria-label="Breadcrumb" className="flex min-w-0 items-center gap-1.5">
          {crumbs.slice(0, -1).map((c) => (
            <span key={c.text} className="flex min-w-0 items-center gap-1.5 text-muted">
              {c.to ? (
                <Link to={c.to} className="truncate hover:text-text hover:underline">
                  {c.text}
                </Link>
              ) : (
                <span className="truncate">{c.text}</span>
              )}
              <span aria-hidden>/</span>
            </span>
          ))}
          <h1 className="truncate text-title font-semibold">{last}</h1>
        </nav>
        {badge}
        <div className="ml-auto flex items-center gap-2">{actions}</div>
      </header>
      {children}
    </div>
  );
}
