import { BoundedThread, JobStopped } from '#libs/threads';
import { type MergeFields, type Rendered, TemplateError } from './merge-fields.js';
import { type Rejection, type templateJobs, type TemplateSource } from './template-jobs.js';

/**
 * Time limits for compiling a template and rendering one message. Rendering usually takes less than a
 * millisecond. Compiling the largest allowed template in a new thread takes about 300 ms, and a stopped
 * template is compiled again in such a thread.
 */
const LIMITS_MS = { compile: 1_000, render: 250 };

type TemplateJobs = ReturnType<typeof templateJobs>;
export type TemplateThread = BoundedThread<TemplateJobs>;

/** A valid template that renders messages. */
export type CompiledTemplate = {
  /**
   * @returns also the milliseconds that the thread spent on it.
   * @throws TemplateError
   */
  render: (values: MergeFields) => Promise<{ rendered: Rendered; took: number }>;
  /** The addresses whose clicks can be counted, see `mailHtml`. */
  links: readonly string[];
};

/** Compiles and renders user-written templates in a separate thread that blocks nothing else. */
export class Templates {
  private lastId = 0;

  constructor(
    private readonly thread: TemplateThread = new BoundedThread<TemplateJobs>(
      new URL('./template-thread.js', import.meta.url),
      LIMITS_MS,
    ),
  ) {}

  /** @throws TemplateError */
  async compile(source: TemplateSource): Promise<CompiledTemplate> {
    const id = (this.lastId += 1);
    const links = await this.load(id, source);
    /** Messages are rendered concurrently, and a thread that lost a template reloads it once. */
    let loading: Promise<unknown> | undefined;
    const render: CompiledTemplate['render'] = async (values) => {
      for (;;) {
        const written = await this.stoppable(this.thread.run('render', id, values));
        if ('rendered' in written) return written;
        if ('rejection' in written) throw errorOf(written.rejection, written.took);
        loading ??= this.load(id, source).finally(() => {
          loading = undefined;
        });
        await loading;
      }
    };
    return { render, links };
  }

  private async load(id: number, source: TemplateSource): Promise<readonly string[]> {
    const compiled = await this.stoppable(this.thread.run('compile', id, source));
    if ('rejection' in compiled) throw errorOf(compiled.rejection);
    return compiled.links;
  }

  private async stoppable<Result>(job: Promise<Result>): Promise<Result> {
    try {
      return await job;
    } catch (error) {
      if (!(error instanceof JobStopped)) throw error;
      throw new TemplateError(
        'TEMPLATE_INVALID',
        'The template takes too long to render. Simplify it.',
        'content',
        LIMITS_MS.render,
      );
    }
  }
}

function errorOf({ blocker, message, part }: Rejection, took = 0): TemplateError {
  return new TemplateError(blocker, message, part, took);
}

/** One thread per process. */
export const templates = new Templates();
