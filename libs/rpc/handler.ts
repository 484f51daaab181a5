import { type Type } from '@nestjs/common';
import { CommandHandler, QueryHandler } from '@nestjs/cqrs';
import { type Input, type InputClass } from './input.js';
import { operationOf } from './operation.js';

/**
 * The handler of an operation, or of a command that only the program runs, as one function.
 *
 * @param services the classes of the providers that the function needs, in the order of its parameters.
 */
export function handlerOf<Given extends Input, Services extends object[]>(
  input: InputClass<Given>,
  services: { [index in keyof Services]: Type<Services[index]> },
  handle: (input: Given, ...services: Services) => Promise<unknown>,
): Type {
  const isQuery = operationOf(input)?.method === 'GET';
  class Handler {
    private readonly services: Services;

    constructor(...given: Services) {
      this.services = given;
    }

    async execute(given: Given): Promise<unknown> {
      return handle(given, ...this.services);
    }
  }
  Reflect.defineMetadata('design:paramtypes', services, Handler);
  (isQuery ? QueryHandler : CommandHandler)(input)(Handler);
  return Handler;
}
