import { type BroadcastFields } from './broadcast.js';
import { type MergeFields, type Rendered, TemplateError } from './merge-fields.js';
import { compile, render, type Template } from './template.js';

export type TemplateSource = Pick<BroadcastFields, 'subject' | 'preheader' | 'content' | 'format'> & {
  hasPetition: boolean;
  /** The organization's, as `#rrggbb`, for buttons. */
  colour?: string | null;
  /** The keys of the organization's custom fields. */
  fieldKeys: readonly string[];
  /** Where counted links lead, see `mailHtml`. */
  countedAt?: string | null;
};
/** Only the message of an error survives the transfer between threads. */
export type Rejection = Pick<TemplateError, 'blocker' | 'message' | 'part'>;
export type Compiled = { links: string[] } | { rejection: Rejection };
export type Written = { took: number } & (
  | { rendered: Rendered }
  | { rejection: Rejection }
  /** This thread never compiled the template, or dropped it to make room for others. */
  | { isUnknown: true }
);

/** A large template takes a few megabytes. Few broadcasts are sent at the same time. */
const MAX_TEMPLATES = 32;

export function templateJobs() {
  const templates = new Map<number, Template>();
  const store = (id: number, template: Template) => {
    templates.delete(id);
    templates.set(id, template);
    const [oldest] = templates.keys();
    if (templates.size > MAX_TEMPLATES) templates.delete(oldest!);
  };
  return {
    compile(id: number, { hasPetition, fieldKeys, colour, countedAt, ...fields }: TemplateSource): Compiled {
      return rejecting(() => {
        const template = compile(fields, { hasPetition, fieldKeys, colour, countedAt });
        store(id, template);
        return { links: template.links };
      });
    },
    render(id: number, values: MergeFields): Written {
      const began = performance.now();
      const template = templates.get(id);
      if (!template) return { isUnknown: true, took: 0 };
      store(id, template);
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
    const { blocker, message, part } = error;
    return { rejection: { blocker, message, part } };
  }
}
