import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useRef, useState, type ReactNode } from "react";

interface Props<T> {
  items: T[];
  keyOf: (item: T) => string;
  height: number;
  label: string;
  row: (item: T, index: number) => ReactNode;
  /** Called when the end comes near. */
  more?: () => void;
  /** Opens an item, with Enter or a click on its row. */
  open?: (item: T) => void;
  foot?: ReactNode;
  /** Chooses an item, or no longer, with x. */
  pick?: (item: T) => void;
}

/** Rows is a list of which only what is visible is in the page. j and k, or the arrows, move through it. */
export function Rows<T>({ items, keyOf, height, label, row, more, open, foot, pick }: Props<T>) {
  const scroller = useRef<HTMLDivElement>(null);
  const [at, setAt] = useState(-1);
  const virtual = useVirtualizer({ count: items.length, getScrollElement: () => scroller.current, estimateSize: () => height, overscan: 12, getItemKey: (i) => keyOf(items[i]!) });
  const visible = virtual.getVirtualItems();
  const last = visible.at(-1)?.index ?? 0;
  useEffect(() => {
    if (more && last >= items.length - 20) more();
  }, [last, items.length, more]);
  useEffect(() => virtual.measure(), [height, virtual]);
  useEffect(() => {
    const key = (e: KeyboardEvent) => {
      if (e.metaKey || e.ctrlKey || e.altKey || (e.target instanceof HTMLElement && e.target.closest("input,textarea,select,[contenteditable],[role=dialog]"))) return;
      if (e.key === "x" && pick) {
        const here = document.activeElement?.closest("[data-index]");
        const item = here && scroller.current?.contains(here) ? items[Number(here.getAttribute("data-index"))] : undefined;
        if (item !== undefined) {
          e.preventDefault();
          pick(item);
        }
        return;
      }
      const own = scroller.current?.contains(document.activeElement);
      const step = e.key === "j" || (own && e.key === "ArrowDown") ? 1 : e.key === "k" || (own && e.key === "ArrowUp") ? -1 : 0;
      if (!step || items.length === 0) return;
      e.preventDefault();
      setAt((i) => {
        const next = Math.max(0, Math.min(items.length - 1, i + step));
        virtual.scrollToIndex(next, { align: "auto" });
        requestAnimationFrame(() => scroller.current?.querySelector<HTMLElement>(`[data-index="${next}"] a`)?.focus());
        return next;
      });
    };
    document.addEventListener("keydown", key);
    return () => document.removeEventListener("keydown", key);
  }, [items, pick, virtual]);
  return (
    <div ref={scroller} className="min-h-0 flex-1 overflow-auto">
      <ul aria-label={label} className="relative" style={{ height: virtual.getTotalSize() }}>
        {visible.map((v) => {
          const item = items[v.index]!;
          return (
            <li
              key={v.key}
              data-index={v.index}
              aria-setsize={items.length}
              aria-posinset={v.index + 1}
              data-selected={v.index === at}
              onClick={
                open &&
                ((e) => {
                  if (!(e.target as HTMLElement).closest("a,button,input,label")) open(item);
                })
              }
              className={`row-link absolute inset-x-0 top-0 border-b border-line ${open ? "cursor-pointer" : ""}`}
              style={{ height: v.size, transform: `translateY(${v.start}px)` }}
            >
              {row(item, v.index)}
            </li>
          );
        })}
      </ul>
      {foot}
    </div>
  );
}
