import { type BroadcastFields } from './broadcast.js';
import { type MergeFields, type Rendered, TemplateError } from './merge-fields.js';
import { compile, render, type Template } from './template.js';

export type TemplateSource = Pick<BroadcastFields, 'subject' | 'preheader' | 'content' | 'format'> & {
  hasPetition: boolean;
};
/** Of errors only the message outlives the way between threads. */
export type Rejection = Pick<TemplateError, 'hindrance' | 'message' | 'part'>;
export type Compiled = { rejection?: Rejection };
export type Written = { took: number } & (
  | { rendered: Rendered }
  | { rejection: Rejection }
  /** Nobody has compiled it in this thread, or so many others since that it was dropped. */
  | { isUnknown: true }
);

/** A large one takes some megabytes. Few broadcasts are sent at the same time. */
const MOST_REMEMBERED = 32;

/** What the thread of `Templates` does. */
export function templateJobs() {
  const remembered = new Map<number, Template>();
  const remember = (id: number, template: Template) => {
    remembered.delete(id);
    remembered.set(id, template);
    const [oldest] = remembered.keys();
    if (remembered.size > MOST_REMEMBERED) remembered.delete(oldest!);
  };
  return {
    compile(id: number, { hasPetition, ...fields }: TemplateSource): Compiled {
      return rejecting(() => {
        remember(id, compile(fields, hasPetition));
        return {};
      });
    },
    render(id: number, values: MergeFields): Written {
      const began = performance.now();
      const template = remembered.get(id);
      if (!template) return { isUnknown: true, took: 0 };
      remember(id, template);
      const outcome = rejecting(() => ({ rendered: render(template, values) }));
      return { ...outcome, took: performance.now() - began };
    },
  };
}

function rejecting<Result>(run: () => Result): Result | { rejection: Rejection } {
  try {
    return run();
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
    const { hindrance, message, part } = error;
    return { rejection: { hindrance, message, part } };
  }
}
