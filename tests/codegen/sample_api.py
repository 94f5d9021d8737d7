"""A small interface with one of each thing that the generator knows."""

from api_dsl import schema as S
from api_dsl.schema import Argument as A, Attribute, Default

_runtime = A("runtime", "runtime_t", "Runtime that defaults come from.", "runtime_t()",
             runtime="required")
_runtime_on_demand = A("runtime", "runtime_t", "Runtime, where one is needed.", "runtime_t()",
                       runtime="on_demand")
_device = A("device", "device_t", "Device to use.", "device_t()",
            resolve=Default("runtime", "default_device", "pass .device()"))

colour = S.Enum("colour_t", "Colours that a device has.",
                (S.EnumValue("red", "Like blood."), S.EnumValue("green", "Like grass.")), "v2",
                str_function=True)
lamps = S.Enum("lamps_t", "Lamps that may be on together.",
               (S.EnumValue("LAMP_LEFT", "The left one.", 1),
                S.EnumValue("LAMP_RIGHT", "The right one.", 2),
                S.EnumValue("LAMP_MAX", "Boundary marker: above both.", 4, marker=True)), "ours", flags=True)

runtime = S.Resource("runtime", "What defaults come from.", "3.2.2", (
    Attribute("greeting", "std::string", "Said at start.", "hello"),
), children=("device",))
device = S.Resource("device", "What paints.", "3.2.3", published=True, attributes=(
    Attribute("colour", "colour_t", "Colour of the paint.", "green"),
    Attribute("lamps", "uint64_t", "Lamps that are on.", "0", flags="lamps_t",
              variables=("LCI_LAMPS",)),
    Attribute("careful", "bool", "Paint slowly.", "true"),
    Attribute("layers", "size_t", "Layers of paint.", "2", minimum=1, maximum=9),
    Attribute("shine", "double", "Share of light that comes back.", "0.5", minimum=0, maximum=1),
    Attribute("uid", "int", "Number of the device.", "-1", settable=False),
))

paint = S.Operation(
    "paint", "int", "Paints a wall.",
    (A("wall", "int", "Number of the wall."), A("bucket", "void*", "Where the paint is.")),
    (_runtime, _device, A("quick", "bool", "Whether to hurry.", "false"),
     A("tint", "colour_t", "Colour to add.", "colour_t::red")),
    source="3.2.4", result="Walls left.", group="Painting")
sketch = S.Derived("sketch", "paint", "Paints a wall for a try.", ("wall",), ("bucket", "tint"),
                   docs=(("wall", "Number of a wall that nobody sees."),), group="Painting")
alloc_device = S.Operation(
    "alloc_device", "device_t", "Makes a device.", (),
    (A("name", "const char*", "Name of it.", '"unnamed"'),
     A("user_context", "void*", "Value of the user.", "nullptr"), _runtime),
    resource="device", fixed=(("colour", "green"),), setter_aliases=(("coats", "layers"),),
    result="The device.", group="Devices")
clean = S.Operation(
    "clean", "void", "Cleans a device.", (A("device", "device_t", "The device."),),
    (_runtime_on_demand,), group="Devices")
free_device = S.Operation(
    "free_device", "void", "Throws a device away.",
    (A("device", "device_t*", "The device."),), (_runtime_on_demand,), group="Devices")
pour = S.Operation(
    "pour", "void", "Pours paint into a bucket.",
    (A("from", "int", "The tap."), A("bucket", "void*", "Where it goes."),
     A("size", "size_t", "Room in the bucket."), A("slowly", "bool", "Whether it may splash.")),
    (), group="Painting")
rest = S.Operation(
    "rest", "void", "Waits while a device dries.", (),
    (A("watch", "bool", "Whether to look at it.", "true"), _runtime_on_demand,
     A("device", "device_t", "Device to look at.", "device_t()",
       resolve=Default("runtime", "default_device", "pass .device()", when="watch"))),
    group="Devices")

API = S.Api(
    enums=(colour, lamps),
    aliases=(S.Alias("brush_t", "void (*)(int wall)", "Moves a brush.", "v2"),
             S.Alias("spot_t", "void*", "A spot of a wall.", "v2")),
    constants=(S.Constant("NO_DEVICE", "device_t", 0, "Stands for no device.", "v2"),
               S.Constant("ANY_DEVICE", "device_t", 1, "Stands for whichever there is.", "v2"),
               S.Constant("NO_BRUSH", "brush_t", 0, "Moves nothing.", "v2"),
               S.Constant("FIRST_SPOT", "spot_t", 1, "Where painting begins.", "v2")),
    resources=(runtime, device),
    operations=(paint, sketch, alloc_device, clean, free_device, pour, rest),
    functions=(S.Function("open_shop", "void", (), "Opens the shop.", group="Shop", begins=True),),
    variables=(S.Variable("LCI_WEATHER", "Read by the painter.", "ours"),),
)
