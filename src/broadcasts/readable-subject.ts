/** The subject for a recipient without data: defaults replace outputs, and conditions are ignored. */
export function readableSubject(subject: string): string {
  return subject
    .replace(/\{%.*?%\}/g, '')
    .replace(/\{\{(.*?)\}\}/g, (_, output: string) => {
      const [, double, single] = /\|\s*default:\s*(?:"([^"]*)"|'([^']*)')/.exec(output) ?? [];
      return double ?? single ?? '…';
    })
    .trim();
}
