/** Requests a passkey from the device and sends its response with the form. The form stays hidden in browsers without passkeys. */

type Reading = {
  parseRequestOptionsFromJSON?: (
    options: PublicKeyCredentialRequestOptionsJSON,
  ) => PublicKeyCredentialRequestOptions;
  parseCreationOptionsFromJSON?: (
    options: PublicKeyCredentialCreationOptionsJSON,
  ) => PublicKeyCredentialCreationOptions;
};

async function askDevice(kind: string, options: unknown, reading: Reading): Promise<Credential | null> {
  return kind === 'create'
    ? navigator.credentials.create({
        publicKey: reading.parseCreationOptionsFromJSON!(options as PublicKeyCredentialCreationOptionsJSON),
      })
    : navigator.credentials.get({
        publicKey: reading.parseRequestOptionsFromJSON!(options as PublicKeyCredentialRequestOptionsJSON),
      });
}

function begin(form: HTMLFormElement, reading: Reading): void {
  const answer = form.querySelector<HTMLInputElement>('[name=response]')!;
  const fault = form.querySelector<HTMLElement>('.fault')!;
  const { passkey = 'get', options = '{}', failed = '' } = form.dataset;
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    fault.hidden = true;
    askDevice(passkey, JSON.parse(options), reading).then(
      (credential) => {
        answer.value = JSON.stringify((credential as PublicKeyCredential).toJSON());
        form.submit();
      },
      () => {
        fault.textContent = failed;
        fault.hidden = false;
      },
    );
  });
  form.hidden = false;
}

if ('PublicKeyCredential' in window) {
  const reading: Reading = PublicKeyCredential;
  if (reading.parseRequestOptionsFromJSON && reading.parseCreationOptionsFromJSON)
    document.querySelectorAll<HTMLFormElement>('form[data-passkey]').forEach((form) => begin(form, reading));
}

export {};
