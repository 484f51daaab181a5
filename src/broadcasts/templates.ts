import { BoundedThread, JobStopped } from '#libs/threads';
import { type MergeFields, type Rendered, TemplateError } from './merge-fields.js';
import { type Rejection, type templateJobs, type TemplateSource } from './template-jobs.js';

/**
 * To read a template, and to write one letter. A letter usually takes less than a millisecond. The largest template that is allowed takes
 * some 300 ms to read in a thread that has just started, and one that was stopped is read again in such a thread.
 */
const LIMITS_MS = { compile: 1_000, render: 250 };

type TemplateJobs = ReturnType<typeof templateJobs>;
export type TemplateThread = BoundedThread<TemplateJobs>;

/** A template that can be used, and writes letters. */
export type CompiledTemplate = {
  /**
   * @returns also the milliseconds that the thread took for it.
   * @throws TemplateError
   */
  render: (values: MergeFields) => Promise<{ rendered: Rendered; took: number }>;
};

/** Compiles and renders what users wrote, in a thread that nobody else waits for. */
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
    await this.teach(id, source);
    /** Many letters are written at once, and a thread that lost a template learns it once. */
    let teaching: Promise<void> | undefined;
    const render: CompiledTemplate['render'] = async (values) => {
      for (;;) {
        const written = await this.stoppable(this.thread.run('render', id, values));
        if ('rendered' in written) return written;
        if ('rejection' in written) throw errorOf(written.rejection, written.took);
        teaching ??= this.teach(id, source).finally(() => {
          teaching = undefined;
        });
        await teaching;
      }
    };
    return { render };
  }

  private async teach(id: number, source: TemplateSource): Promise<void> {
    const { rejection } = await this.stoppable(this.thread.run('compile', id, source));
    if (rejection) throw errorOf(rejection);
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

function errorOf({ hindrance, message, part }: Rejection, took = 0): TemplateError {
  return new TemplateError(hindrance, message, part, took);
}

/** One thread for all of the process. */
export const templates = new Templates();
