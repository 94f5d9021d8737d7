"""The interface of LCI, described once. `API` is all of it; codegen/ makes the rest from it."""

from api_dsl import (allocation, atomics, collectives, communication, completion, enums,
                     environment, network, peers, resources, setup)
from api_dsl.schema import Api

API = Api(
    enums=enums.ALL,
    aliases=resources.ALIASES,
    constants=resources.CONSTANTS,
    resources=resources.ALL,
    operations=(setup.OPERATIONS + communication.OPERATIONS + atomics.OPERATIONS +
                completion.OPERATIONS + allocation.OPERATIONS + network.OPERATIONS +
                peers.OPERATIONS + collectives.OPERATIONS),
    functions=setup.FUNCTIONS,
    variables=environment.VARIABLES,
)
