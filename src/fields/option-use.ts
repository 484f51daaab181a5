import { Injectable } from '@nestjs/common';

/** Counts the records that have one of these options as their value, or among their values. */
type CountUse = (organizationId: string, fieldId: string, options: readonly string[]) => Promise<number>;

/** How many contacts use the options of a field. The module of contacts counts, because it depends on this one. */
@Injectable()
export class OptionUse {
  private readonly counts: CountUse[] = [];

  /** Call it before the first request. */
  countBy(count: CountUse): void {
    this.counts.push(count);
  }

  async count(...asked: Parameters<CountUse>): Promise<number> {
    const numbers = await Promise.all(this.counts.map((count) => count(...asked)));
    return numbers.reduce((sum, number) => sum + number, 0);
  }
}
