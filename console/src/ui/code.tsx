import { lazy, Suspense } from "react";
import type { CodeProps } from "./codemirror";
import { Skeleton } from "./state";

const Mounted = lazy(() => import("./codemirror"));

/** Code edits or shows a text. Its editor is loaded when it is needed. */
export function Code(props: CodeProps) {
  return (
    <Suspense fallback={<Skeleton rows={8} />}>
      <Mounted {...props} />
    </Suspense>
  );
}
