/** Computes the proof of work before the form is sent. If that fails, the form is sent without it. */
type Task = { algorithm: string; challenge: string; salt: string; signature: string; maxnumber: number };

{
  const AT_ONCE = 200;
  const MOST_MS = 5_000;
  const hex = (bytes: ArrayBuffer) =>
    Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, '0')).join('');

  const solve = async ({ algorithm, challenge, salt, maxnumber }: Task): Promise<number | undefined> => {
    const encoder = new TextEncoder();
    for (let from = 0; from <= maxnumber; from += AT_ONCE) {
      const hashes = await Promise.all(
        Array.from({ length: AT_ONCE }, (_, n) =>
          crypto.subtle.digest(algorithm, encoder.encode(`${salt}${from + n}`)),
        ),
      );
      const found = hashes.findIndex((hash) => hex(hash) === challenge);
      if (found >= 0) return from + found;
    }
    return undefined;
  };

  const prove = async (form: HTMLFormElement) => {
    const late = new AbortController();
    setTimeout(() => late.abort(), MOST_MS);
    const task = (await (await fetch(form.dataset.proof!, { signal: late.signal })).json()) as Task;
    const { algorithm, challenge, salt, signature } = task;
    const input = document.createElement('input');
    input.type = 'hidden';
    input.name = 'altcha';
    input.value = btoa(JSON.stringify({ algorithm, challenge, salt, signature, number: await solve(task) }));
    form.append(input);
  };

  const form = document.querySelector<HTMLFormElement>('form[data-proof]');
  // Pages served over plain HTTP have no `subtle`.
  if (form && (crypto.subtle as SubtleCrypto | undefined)) {
    let isReady = false;
    form.addEventListener('submit', (event) => {
      if (isReady) return;
      event.preventDefault();
      const button = event.submitter as HTMLButtonElement;
      const name = button.textContent;
      button.disabled = true;
      button.textContent = form.dataset.working!;
      const send = () => {
        button.disabled = false;
        isReady = true;
        // Includes the value of the button, which `submit()` does not.
        form.requestSubmit(button);
      };
      // Restores the form if the browser returns to the page from its cache.
      window.addEventListener(
        'pagehide',
        () => {
          isReady = false;
          button.textContent = name;
          form.querySelectorAll('[name=altcha]').forEach((input) => input.remove());
        },
        { once: true },
      );
      prove(form).then(send, send);
    });
  }
}
